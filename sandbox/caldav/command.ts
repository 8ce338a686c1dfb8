import type { SandboxCommand } from '../kit/command.ts';
import { DIALECT_NAMES, startCaldavSandbox } from './index.ts';

/** How `npm run sandbox -- caldav` starts it. */
export const command: SandboxCommand = {
  options: {
    port: { about: 'port on 127.0.0.1; 0 takes a free one', default: 4670 },
    dialect: { about: 'whose ways it has', default: 'standard', choices: DIALECT_NAMES },
  },
  start: async (given) => {
    const dialect = given.choice('dialect', DIALECT_NAMES);
    const sandbox = await startCaldavSandbox({ dialect, port: given.number('port') });
    const { url, user, password, homePath, authorization } = sandbox;
    const calendar = `${url}${sandbox.addCalendar('appointments')}`;
    await fetch(`${calendar}first.ics`, { method: 'PUT', headers: { authorization }, body: FIRST_EVENT });
    return {
      facts: { server: url, home: `${url}${homePath}`, calendar, user, password, dialect },
      example: { url: `${calendar}first.ics`, headers: { authorization } },
      adminUrl: url,
      close: sandbox.close,
    };
  },
};

const FIRST_EVENT = [
  'BEGIN:VCALENDAR',
  'VERSION:2.0',
  'PRODID:-//clinic-mirror//sandbox//EN',
  'BEGIN:VEVENT',
  'UID:first',
  'DTSTAMP:20270101T000000Z',
  'DTSTART:20270310T080000Z',
  'DTEND:20270310T083000Z',
  'SUMMARY:First event',
  'END:VEVENT',
  'END:VCALENDAR',
  '',
].join('\r\n');
