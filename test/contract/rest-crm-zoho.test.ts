import { describeCrmConnector } from './connector-contract.ts';
import { openRestCrmTarget } from './rest-crm-target.ts';
import { zoho } from './zoho-speech.ts';

const BY_PLACE = 'rows of an answer have no names, only the order of the request';
const NO_MERGING = 'the test server joins no records; one that was joined away is like one deleted manually';

const NO_PAGES = 'where its pages are depends on the data centre: whoever configures the target says it (page)';

const skips = {
  'each object has a page on which users edit it': NO_PAGES,
  'a write that meets a property that is gone is a matter of settings, named':
    'refusals of a described CRM are known by their codes: which field is meant is told by the next look before writing',
  'an operation whose own answer is missing failed ambiguously and ends well when sent again': BY_PLACE,
  'answers in another order reach their own operations': BY_PLACE,
  'a property whose values are of another kind is a matter of settings, named':
    'descriptions name properties and not their types: such a value is refused when it is written',
};

describeCrmConnector('rest-crm-zoho', () => openRestCrmTarget(zoho), {
  skips: {
    ...skips,
    'an older create, update or delete does not change a later write':
      'writes are upserts by key without a look: a late one lands, and the audit tells it by its stamp',
    'a managed object that a user merged into a foreign one becomes two separate objects again': NO_MERGING,
    'a delete of one of two merged objects leaves the other': NO_MERGING,
    'two managed objects that a user merged are two again after the next updates, and remain two': NO_MERGING,
  },
  activities: { skips },
});
