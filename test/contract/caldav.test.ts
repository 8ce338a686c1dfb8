import { firstAccount, openDavTarget } from '../connectors/caldav/dav-target.ts';
import { useRadicale } from '../support/radicale.ts';
import { CALDAV_SKIPS } from './caldav-skips.ts';
import { describeConnector, describePersonsOwn } from './connector-contract.ts';

const radicale = useRadicale();

describeConnector('caldav', () => openDavTarget(firstAccount(radicale())), { skips: CALDAV_SKIPS });

describePersonsOwn('caldav', () => openDavTarget(firstAccount(radicale())));
