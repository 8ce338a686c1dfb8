import { describeCrmConnector } from './connector-contract.ts';
import { HUBSPOT_SKIPS } from './hubspot-skips.ts';
import { openHubSpotTarget } from './hubspot-target.ts';

/** Groups that depend on the paths of an API version; failures and retries are equal in all versions. */
const ANY = [
  'repetition',
  'people and foreign objects',
  'reading and adoption',
  'many operations',
  'erasing',
  'request budget and paging',
  'properties',
];
const CONTACTS = [...ANY, 'contacts from before', 'families', 'activities and their contacts'];

describeCrmConnector('hubspot-2026-03', () => openHubSpotTarget({ version: '2026-03' }), {
  ...HUBSPOT_SKIPS,
  groups: CONTACTS,
  activities: { ...HUBSPOT_SKIPS.activities, groups: ANY },
});
