import { describeCrmConnector } from './connector-contract.ts';
import { HUBSPOT_SKIPS } from './hubspot-skips.ts';
import { openHubSpotTarget } from './hubspot-target.ts';

describeCrmConnector('hubspot', openHubSpotTarget, HUBSPOT_SKIPS);
