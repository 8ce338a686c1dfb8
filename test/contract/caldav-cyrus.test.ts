import { firstAccount, openDavTarget } from '../connectors/caldav/dav-target.ts';
import { useCyrus } from '../support/dav-servers.ts';
import { CALDAV_SKIPS } from './caldav-skips.ts';
import { describeConnector } from './connector-contract.ts';

const cyrus = useCyrus();

describeConnector('caldav-cyrus', () => openDavTarget(firstAccount(cyrus())), { skips: CALDAV_SKIPS });
