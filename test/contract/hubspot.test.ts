import { describeCrmConnector } from './connector-contract.ts';
import { openHubSpotTarget } from './hubspot-target.ts';

describeCrmConnector('hubspot', openHubSpotTarget);
