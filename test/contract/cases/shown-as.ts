import { expect } from 'vitest';
import type { CalendarItem } from '../../../src/core/model/items.ts';
import type { Appointment } from '../../../src/core/model/records.ts';
import { type Directory, type ProjectionPolicy, project } from '../../../src/domain/project.ts';
import { parseTitleFormat } from '../../../src/settings/event-fields.ts';
import { appointmentOf, EMPTY_DIRECTORY, NOTHING_MORE, STATUSES } from '../../domain/arbitraries.ts';
import { group } from '../contract-case.ts';
import { allDay, type CalendarKit, createOperation, describeOutcome, itemWith, keyOf, timed } from '../contract-kit.ts';

const PAGE = 'https://clinic.example/appointments/a1';
const VISIT = 'https://video.example/rooms/7f3a';
const ROME = 'Europe/Rome';

const DIRECTORY: Directory = {
  ...EMPTY_DIRECTORY,
  agendas: new Map([['agenda', { id: 'agenda', name: 'Dr. Verdi', locationId: null, isActive: true }]]),
  pageUrl: 'https://clinic.example/appointments/{id}',
};

/** What the policy of a target makes of an appointment, as a cycle would for this vendor. */
function projected({ target }: CalendarKit, policy: Partial<ProjectionPolicy>, changes: Partial<Appointment> = {}) {
  const appointment = appointmentOf('a1', { agendaId: 'agenda', teleVisitUrl: VISIT, ...changes });
  const { presets = [] } = target.supports;
  const whole: ProjectionPolicy = {
    ...NOTHING_MORE,
    ...{ presets, title: 'appointment', fields: [], statuses: STATUSES, free: [], language: 'en', zone: ROME },
    ...policy,
  };
  const item = project(appointment, whole, DIRECTORY, () => keyOf('a1'));
  if (item === null) throw new Error('the policy hides this appointment');
  return item;
}

/** Writes an item, expects that it reads back unchanged and needs no second write, and returns the object. */
async function kept(kit: CalendarKit, item: CalendarItem) {
  expect(describeOutcome((await kit.attempt([createOperation('a', item)]))[0])).toBe('written created');
  const object = await kit.object('a');
  expect((await kit.readAll()).map((one) => one.item)).toEqual([item]);
  expect(describeOutcome((await kit.attempt([createOperation('a', item)]))[0])).toBe('written adopted');
  expect((await kit.object('a')).version, 'written once').toBe(object.version);
  return object;
}

/** Events of a target's policy, as a user of the calendar sees them. */
export const shownAs = group<CalendarKit>('how entries are shown', {
  'links to the page and to the video visit are shown, if the vendor has a field for them': async (kit) => {
    const { description, links } = await kept(kit, projected(kit, { links: ['page', 'teleVisit'] }));
    const everywhere = [description, ...links].join('\n');
    expect(everywhere.split(PAGE)).toHaveLength(2);
    expect(everywhere.split(VISIT)).toHaveLength(2);
  },
  'a title composed of several values is shown completely': async (kit) => {
    const titleFormat = parseTitleFormat('[{agenda}: ]{title}[ ({treatment})]')!;
    const item = projected(kit, { titleFormat, fields: ['agenda', 'treatment'] });
    expect(await kept(kit, item)).toMatchObject({ title: 'Dr. Verdi: Appointment', description: '' });
  },
  'an appointment is shown in its own time zone': async (kit) => {
    const time = timed('2027-07-10T09:00:00+02:00', '2027-07-10T09:30:00+02:00', ROME);
    expect(await kept(kit, itemWith({ time }))).toMatchObject({ clockZone: ROME });
  },
  "a whole day begins in the clinic's zone, or in none": async (kit) => {
    const object = await kept(kit, itemWith({ time: allDay('2027-07-10', '2027-07-11') }));
    expect([ROME, null]).toContain(object.clockZone);
    expect(object).toMatchObject({ startDate: '2027-07-10', endDate: '2027-07-11' });
  },
  'a reminder setting of none rings nowhere, and prevents programs from adding one': async (kit) => {
    expect(kit.target.supports.presets, 'else skip the case: the vendor has no word for none').toContain('noAlert');
    const object = await kept(kit, projected(kit, { reminderMinutes: 'none' }));
    expect(object).toMatchObject({ alarms: 0, isSilenced: true });
  },
});
