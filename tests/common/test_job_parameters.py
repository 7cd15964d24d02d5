import pytest

from firesteel.common import ExecutionConfig
from firesteel.common.options.job_parameters import global_job_parameters
from firesteel.common.options.pipeline_options import GLOBAL_JOB_PARAMETERS


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("", {}),
        ("a:1,b:2", {"a": "1", "b": "2"}),
        ("a: 1, b: 2", {"a": "1", "b": "2"}),
        ("url:http://host:1", {"url": "http://host:1"}),
        ("'a,b':'x:y',c:'it''s'", {"a,b": "x:y", "c": "it's"}),
        ('{"a": "1", "b": true}', {"a": "1", "b": "true"}),
        ("{a: 1, b: x}", {"a": "1", "b": "x"}),
    ],
)
def test_parameters_are_a_map_in_yaml_or_pairs(text, parameters):
    assert global_job_parameters({GLOBAL_JOB_PARAMETERS.key: text}) == parameters


@pytest.mark.parametrize("text", ["a", "a:1,b", "{a: ["])
def test_what_is_no_map_is_refused(text):
    with pytest.raises(ValueError, match=r"pipeline\.global-job-parameters must be a map"):
        global_job_parameters({GLOBAL_JOB_PARAMETERS.key: text})


def test_parameters_that_are_set_are_read_again():
    parameters = {"a,b": "x:y", "c": "it's"}
    assert ExecutionConfig().set_global_job_parameters(parameters).get_global_job_parameters() == parameters
