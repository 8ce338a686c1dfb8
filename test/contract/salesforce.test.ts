import { describeCrmConnector } from './connector-contract.ts';
import { openSalesforceTarget } from './salesforce-target.ts';

const NO_NAMES = 'results of a collection have no names, only places: where one is missing nothing can be said of any';

const TURNS = 'requests of one process to an org take turns: a second one waits for the one that is held';

const skips = {
  'a create that arrives after the deletion of its record is found by its key, and can be deleted': TURNS,
  'a delayed update is refused, or detected by its revision': TURNS,
  'an older create, update or delete does not change a later write':
    'writes are upserts by key without a look: a late one lands, and the audit tells it by its stamp',
  'an operation whose own answer is missing failed ambiguously and ends well when sent again': NO_NAMES,
};

describeCrmConnector('salesforce', openSalesforceTarget, { skips, activities: { skips } });
