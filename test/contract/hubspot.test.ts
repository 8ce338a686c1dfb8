import { describeCrmConnector } from './connector-contract.ts';
import { openHubSpotTarget } from './hubspot-target.ts';

const skips = {
  'an older create, update or delete leaves what was written later':
    'writes are upserts by key without a look: a late one lands, and the audit tells it by its stamp',
};

describeCrmConnector('hubspot', openHubSpotTarget, { skips, activities: { skips } });
