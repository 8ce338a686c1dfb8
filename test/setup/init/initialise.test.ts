import { expect, test } from 'vitest';
import { askCalendars } from '../../../src/setup/init/tenant-part.ts';
import { asker, filesOf, newFolder, PLACES, REGISTRATIONS, serversThatRefuse } from './answers.ts';

test('a CalDAV password that the server refuses is not written, and a corrected one replaces what an earlier run left', async () => {
  const dir = newFolder();
  const tools = (wrong: string) => {
    return { dir, tenant: 'aurora', registrations: REGISTRATIONS, tests: serversThatRefuse(wrong).tests };
  };
  const calendar = { id: 'room', agendas: ['14'], kind: 'caldav', server: 'https://dav.example', username: 'b' };
  const ask = (password: string, wrong: string) =>
    askCalendars(tools(wrong), PLACES, asker({ calendars: [{ ...calendar, password }] }));
  await expect(ask('first-one', 'first-one')).rejects.toMatchObject({ code: 'value-refused' });
  expect(filesOf(dir)).toEqual({});
  await ask('first-one', 'none');
  await ask('second-one', 'first-one');
  expect(filesOf(dir)).toEqual({ 'secrets/aurora/room-password': 'second-one\n' });
});
