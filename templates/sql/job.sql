-- Counts clicks per page in windows of ten seconds of event time.

CREATE TABLE clicks (
  page STRING,
  clicked_at TIMESTAMP(3),
  WATERMARK FOR clicked_at AS clicked_at - INTERVAL '5' SECOND
) WITH (
  'connector' = 'filesystem',
  'path' = 'clicks.csv',
  'format' = 'csv'
);

SELECT window_start, page, COUNT(*) AS clicks
FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(clicked_at), INTERVAL '10' SECOND))
GROUP BY window_start, window_end, page;
