// Tier: quick. A part of the contract of CalDAV.
import { openDavDialect } from './caldav-dialect-target.ts';
import { describePersonsOwn } from './connector-contract.ts';

describePersonsOwn('caldav-as-standard', () => openDavDialect('standard'));
