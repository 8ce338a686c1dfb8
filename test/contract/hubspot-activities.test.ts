// Tier: quick. A part of the contract of one CRM.
import { FAILURE_GROUPS } from './cases/index.ts';
import { describeActivities } from './connector-contract.ts';
import { HUBSPOT_SKIPS } from './hubspot-skips.ts';
import { openHubSpotTarget } from './hubspot-target.ts';

describeActivities('hubspot', openHubSpotTarget, {
  ...HUBSPOT_SKIPS.activities,
  except: [...FAILURE_GROUPS, 'histories'],
});
