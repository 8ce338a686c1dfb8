// Tier: quick. A part of the contract of one CRM.
import { FAILURE_GROUPS } from './cases/index.ts';
import { describeCrmConnector } from './connector-contract.ts';
import { HUBSPOT_SKIPS } from './hubspot-skips.ts';
import { openHubSpotTarget } from './hubspot-target.ts';

const part = { groups: FAILURE_GROUPS, part: 'failures' };

describeCrmConnector('hubspot', openHubSpotTarget, {
  ...{ ...HUBSPOT_SKIPS, ...part },
  activities: { ...HUBSPOT_SKIPS.activities, ...part },
});
