import { describeCrmConnector } from './connector-contract.ts';
import { openSalesforceTarget } from './salesforce-target.ts';

const NO_NAMES = 'results of a collection have only positions: if one is missing, all results are unknown';

const TURNS = 'a process sends one request to an org at a time: the second one waits for the delayed one';

const skips = {
  'a create that arrives after the deletion of its record is found by its key, and can be deleted': TURNS,
  'a delayed update is refused, or detected by its revision': TURNS,
  'an older create, update or delete does not change a later write':
    'writes are upserts by key without a read: a late write succeeds, and the audit finds it by its stamp',
  'an operation whose own answer is missing failed ambiguously and ends well when sent again': NO_NAMES,
};

describeCrmConnector('salesforce', openSalesforceTarget, { skips, activities: { skips } });
