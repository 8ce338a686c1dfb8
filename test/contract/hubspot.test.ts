import { describeCrmConnector } from './connector-contract.ts';
import { openHubSpotTarget } from './hubspot-target.ts';

const skips = {
  'an older create, update or delete leaves what was written later':
    'revisions are not compared before a write: a late one lands, and the audit tells it by its stamp',
};

const activitySkips = {
  ...skips,
  'two workers that create the same record at once leave one object':
    'keys of meetings are looked up: between the look and the create only the lease keeps a second worker away',
};

describeCrmConnector('hubspot', openHubSpotTarget, { skips, activities: { skips: activitySkips } });
