"""Traces: the format, the check of a trace as a whole, and files of it."""

from oospec_async.trace.file import check_trace as check_trace
from oospec_async.trace.file import read_trace as read_trace
from oospec_async.trace.file import write_trace as write_trace
from oospec_async.trace.format import PARTS as PARTS
from oospec_async.trace.format import Count as Count
from oospec_async.trace.format import HostSample as HostSample
from oospec_async.trace.format import LinkSample as LinkSample
from oospec_async.trace.format import ModelInfo as ModelInfo
from oospec_async.trace.format import Origin as Origin
from oospec_async.trace.format import PrefillSample as PrefillSample
from oospec_async.trace.format import Profile as Profile
from oospec_async.trace.format import Provenance as Provenance
from oospec_async.trace.format import Publish as Publish
from oospec_async.trace.format import RequestTrace as RequestTrace
from oospec_async.trace.format import Round as Round
from oospec_async.trace.format import Seconds as Seconds
from oospec_async.trace.format import Some as Some
from oospec_async.trace.format import StepSample as StepSample
from oospec_async.trace.format import Timing as Timing
from oospec_async.trace.format import Trace as Trace
from oospec_async.trace.format import VerifySample as VerifySample
from oospec_async.trace.format import Wave as Wave
from oospec_async.trace.format import WaveStep as WaveStep
