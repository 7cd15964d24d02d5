"""Amazon Kinesis and Firehose."""
