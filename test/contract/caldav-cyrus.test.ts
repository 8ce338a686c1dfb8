import { firstAccount, openDavTarget } from '../connectors/caldav/dav-target.ts';
import { useCyrus } from '../support/dav-servers.ts';
import { CALDAV_SKIPS } from './caldav-skips.ts';
import { describeConnector, describePersonsOwn } from './connector-contract.ts';

const cyrus = useCyrus();

const CUTS_SPACES = 'Cyrus removes spaces at the end of a string, and the last character of this string is a space';

describeConnector('caldav-cyrus', () => openDavTarget(firstAccount(cyrus())), {
  skips: { ...CALDAV_SKIPS, 'ten thousand characters arrive unchanged': CUTS_SPACES },
});

describePersonsOwn('caldav-cyrus', () => openDavTarget(firstAccount(cyrus())));
