import { firstAccount, openDavTarget } from '../connectors/caldav/dav-target.ts';
import { useXandikos } from '../support/dav-servers.ts';
import { CALDAV_SKIPS } from './caldav-skips.ts';
import { describeConnector } from './connector-contract.ts';

const xandikos = useXandikos();

describeConnector('caldav-xandikos', () => openDavTarget(firstAccount(xandikos())), { skips: CALDAV_SKIPS });
