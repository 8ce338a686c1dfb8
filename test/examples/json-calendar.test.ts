import { describeConnector, describePersonsOwn } from '../contract/connector-contract.ts';
import { openJsonTarget } from './json-calendar-target.ts';

const NO_WIRE = 'a file system neither limits, compresses nor delays answers';
const NO_LOGIN = 'a file has no connection: its permissions are those of the daemon, and a case covers them';
const ONE_FILE = 'all operations of a call are one replacement of the file, which succeeds or fails as a whole';
const ONE_READING = 'the file is read as a whole, without pages';
const NO_FEED = 'a file lists no changes: after any change, the fetch is complete';

describeConnector('json-calendar', openJsonTarget, {
  skips: {
    'a create whose answer does not come in time ends as one object': NO_WIRE,
    'a rate limit with seconds is passed on as a wait': NO_WIRE,
    'a rate limit with a date is passed on as a wait': NO_WIRE,
    'a limit of 20 seconds told in seconds refuses two requests at most': NO_WIRE,
    'a limit of 20 seconds told as a date by a clock 3 h ahead refuses two requests at most': NO_WIRE,
    'a limit of 20 seconds told in epoch seconds refuses two requests at most': NO_WIRE,
    'a limit of 20 seconds that names no wait refuses two requests at most': NO_WIRE,
    'a rate limit during a read is an error, not an empty target': NO_WIRE,
    'a stopped call ends soon and can be sent again': NO_WIRE,
    'an interrupted compressed answer to a read is an error that is retried later': NO_WIRE,
    'an expired access token is renewed once and the write succeeds': NO_LOGIN,
    'an expired access token is renewed once and the read succeeds': NO_LOGIN,
    'a permanently refused connection requires an operator after one renewal': NO_LOGIN,
    'a connection without tokens costs no request': NO_LOGIN,
    'a temporarily failed operation is retried, and no other is': ONE_FILE,
    'an operation whose own answer is missing failed ambiguously and ends well when sent again': ONE_FILE,
    'answers in another order reach their own operations': ONE_FILE,
    'a server that takes fewer operations at once is met': ONE_FILE,
    'a batch with one refused member fails only for that member': ONE_FILE,
    'a batch answered as if the target were missing, because of one member, fails only for that member': ONE_FILE,
    'a request without item content contains none of its texts': ONE_FILE,
    'an object that the server fails at is reported as unreadable, and hides no other': ONE_READING,
    'a target of several pages is read whole': ONE_READING,
    'a last page that is exactly full is read whole': ONE_READING,
    'an empty page with a successor is not the end': ONE_READING,
    'a page that fails is an error, not the end': ONE_READING,
    'a cursor may be used twice, with the same answer': NO_FEED,
    'an own write is reported with the version tag of its outcome': NO_FEED,
    'a manual edit is reported once, with the current content': NO_FEED,
    'a manual deletion is reported with the remote id': NO_FEED,
    'writes and deletions of another worker are reported': NO_FEED,
    'foreign objects, and those of another target, are unmanaged': NO_FEED,
    'an object that was deleted and recreated exists': NO_FEED,
    'an event moved out of the window by a user, or changed outside of it, is not missing': NO_FEED,
    'an expired cursor causes a complete read, and the next cursor continues from there': NO_FEED,
    'changes of several pages are reported completely': NO_FEED,
    'a page of changes that fails is an error, not the end': NO_FEED,
    'each object has a page on which users edit it': 'a file has no page for an event',
    'an object without marks that a client renamed is found by its UID':
      'an event has no name in addition to its id and its labels',
    'a reminder setting of none rings nowhere, and prevents programs from adding one':
      'no program reads reminders here',
    notifications: 'a file sends no notifications',
  },
});

describePersonsOwn('json-calendar', openJsonTarget, {
  skips: { 'what an event comes with and people may change': 'the connector supports no presets' },
});
