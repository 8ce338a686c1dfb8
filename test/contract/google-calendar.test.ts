import { describeConnector } from './connector-contract.ts';
import { openGoogleTarget } from './google-calendar-target.ts';

describeConnector('google-calendar', openGoogleTarget);
