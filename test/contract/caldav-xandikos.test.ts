import { firstAccount, openDavTarget } from '../connectors/caldav/dav-target.ts';
import { useXandikos } from '../support/dav-servers.ts';
import { CALDAV_SKIPS } from './caldav-skips.ts';
import { describeConnector, describePersonsOwn } from './connector-contract.ts';

const xandikos = useXandikos();

const READS_TWICE = 'Xandikos reads escapes twice: a backslash before a comma or an n is lost in what it stores';

describeConnector('caldav-xandikos', () => openDavTarget(firstAccount(xandikos())), {
  skips: { ...CALDAV_SKIPS, 'commas, semicolons, backslashes and colons arrive unchanged': READS_TWICE },
});

describePersonsOwn('caldav-xandikos', () => openDavTarget(firstAccount(xandikos())));
