// Tier: quick. The contract of one CRM; the files hubspot-… cover the rest.
import { FAILURE_GROUPS } from './cases/index.ts';
import { describeContacts } from './connector-contract.ts';
import { HUBSPOT_SKIPS } from './hubspot-skips.ts';
import { openHubSpotTarget } from './hubspot-target.ts';

describeContacts('hubspot', openHubSpotTarget, { ...HUBSPOT_SKIPS, except: [...FAILURE_GROUPS, 'histories'] });
