// Tier: quick. A part of the contract of CalDAV.
import { openDavDialect } from './caldav-dialect-target.ts';
import { CALDAV_SKIPS } from './caldav-skips.ts';
import { FAILURE_GROUPS } from './cases/index.ts';
import { describeConnector } from './connector-contract.ts';

describeConnector('caldav-as-standard', () => openDavDialect('standard'), {
  skips: CALDAV_SKIPS,
  groups: FAILURE_GROUPS,
  part: 'failures',
});
