const NO_BATCH = 'CalDAV has no batch of writes: one request for one operation';
const NO_PAGES =
  'CalDAV has no pages: the connector requests fifty objects per call, covered by the connector’s own tests';
const NO_CHANGE_PAGES =
  'pages of changes are optional in CalDAV, and this server sends none; covered by the connector’s own tests';
const NO_NOTIFICATIONS = 'CalDAV has no standard for notifications: servers are polled';

/** Cases of the contract that no CalDAV server can support. */
export const CALDAV_SKIPS: Readonly<Record<string, string>> = {
  'answers in another order reach their own operations': NO_BATCH,
  'a server that takes fewer operations at once is met': NO_BATCH,
  'a target of several pages is read whole': NO_PAGES,
  'a last page that is exactly full is read whole': NO_PAGES,
  'an empty page with a successor is not the end': NO_PAGES,
  'a page that fails is an error, not the end': NO_PAGES,
  'changes of several pages are reported completely': NO_CHANGE_PAGES,
  'a page of changes that fails is an error, not the end': NO_CHANGE_PAGES,
  'a copy of an object is removed alone, and only while it exists':
    'servers refuse a second object with the UID; `late-writes.test.ts` covers servers that take it',
  'each object has a page on which users edit it':
    'a CalDAV server has no URL of a page for an object: users choose their own program',
  notifications: NO_NOTIFICATIONS,
};
