import { describeCrmConnector } from './connector-contract.ts';
import { espocrm } from './espocrm-speech.ts';
import { openRestCrmTarget } from './rest-crm-target.ts';

const NO_BATCH = 'this CRM has no batch of writes: one request for one operation';

const skips = {
  'two workers that create the same record at once leave one object':
    'this CRM enforces no unique key: between the look and the create only the lease keeps a second worker away',
  'answers in another order reach their own operations': NO_BATCH,
  'a server that takes fewer operations at once is met': NO_BATCH,
  'an empty page with a successor is not the end': 'a list by offset has no successors: an empty page is its end',
  'a property whose values are of another kind is a matter of settings, named':
    'descriptions name properties and not their types: such a value is refused when it is written',
  'a write that meets a property that is gone is a matter of settings, named':
    'this CRM passes over attributes that it does not know',
};

const NO_MERGING = 'the test server merges no records; a record lost by a merge is like one deleted manually';

describeCrmConnector('rest-crm', () => openRestCrmTarget(espocrm), {
  skips: {
    ...skips,
    'a managed object that a user merged into a foreign one becomes two separate objects again': NO_MERGING,
    'a delete of one of two merged objects leaves the other': NO_MERGING,
    'two managed objects that a user merged are two again after the next updates, and remain two': NO_MERGING,
  },
  activities: { skips },
});
