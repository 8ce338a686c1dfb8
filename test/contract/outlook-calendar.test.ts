import { describeConnector } from './connector-contract.ts';
import { openOutlookTarget } from './outlook-calendar-target.ts';

describeConnector('outlook-calendar', openOutlookTarget);
