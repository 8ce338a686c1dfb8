import { describeCrmConnector } from './connector-contract.ts';
import { openRestCrmTarget } from './rest-crm-target.ts';
import { zoho } from './zoho-speech.ts';

const BY_PLACE = 'rows of an answer have no names, only the order of the request';
const NO_MERGING = 'the test server merges no records; a record lost by a merge is like one deleted manually';

const NO_PAGES = 'the URL of a page depends on the data centre: the target has a setting for it (page)';

const skips = {
  'each object has a page on which users edit it': NO_PAGES,
  'a write that meets a property that is gone is a matter of settings, named':
    'refusals of a described CRM have only a code: the next check before a write finds the affected field',
  'an operation whose own answer is missing failed ambiguously and ends well when sent again': BY_PLACE,
  'answers in another order reach their own operations': BY_PLACE,
  'a property whose values are of another kind is a matter of settings, named':
    'descriptions name properties and not their types: such a value is refused when it is written',
};

describeCrmConnector('rest-crm-zoho', () => openRestCrmTarget(zoho), {
  skips: {
    ...skips,
    'an older create, update or delete does not change a later write':
      'writes are upserts by key without a read: a late write succeeds, and the audit finds it by its stamp',
    'a managed object that a user merged into a foreign one becomes two separate objects again': NO_MERGING,
    'a delete of one of two merged objects leaves the other': NO_MERGING,
    'two managed objects that a user merged are two again after the next updates, and remain two': NO_MERGING,
  },
  activities: { skips },
});
