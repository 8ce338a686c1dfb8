import type { ContractOptions } from './connector-contract.ts';

const UNASKED = 'lists tell who is joined with nobody, and not with whom: an object that was given away is left there';

const ACTIVITIES = {
  'an activity that a user moved to another contact counts as edited, and is moved back': UNASKED,
  'a deal that a user moved to another contact counts as edited, and is moved back': UNASKED,
};

const SKIPS = {
  'an older create, update or delete does not change a later write':
    'revisions are not compared before a write: a late one lands, and the audit tells it by its stamp',
};

const ACTIVITY_SKIPS = {
  ...SKIPS,
  'two workers that create the same record at once leave one object':
    'keys of meetings are looked up: between the look and the create only the lease keeps a second worker away',
};

/** What the suite can't ask of HubSpot, in any version of its API. */
export const HUBSPOT_SKIPS: ContractOptions & { activities: ContractOptions } = {
  skips: { ...SKIPS, ...ACTIVITIES },
  activities: { skips: ACTIVITY_SKIPS },
};
