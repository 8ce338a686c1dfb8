// Tier: quick. The contract of CalDAV, with a fifth of the processor time that Radicale takes.
import { openDavDialect } from './caldav-dialect-target.ts';
import { CALDAV_SKIPS } from './caldav-skips.ts';
import { FAILURE_GROUPS } from './cases/index.ts';
import { describeConnector } from './connector-contract.ts';

describeConnector('caldav-as-standard', () => openDavDialect('standard'), {
  skips: CALDAV_SKIPS,
  except: FAILURE_GROUPS,
});
