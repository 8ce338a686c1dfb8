import { expect, test } from 'vitest';
import { agendasOf, belongsTo } from '../../../src/core/model/records.ts';

const CUT = ['agendaId'] as const;

test('an appointment has the agendas of its list, or its only one', () => {
  expect(agendasOf({ agendaId: 'dr-7' })).toEqual(['dr-7']);
  expect(agendasOf({ agendaId: 'dr-7', agendaIds: ['dr-7', 'room-2'] })).toEqual(['dr-7', 'room-2']);
});

test.each([
  ['all agendas', { agendaId: 'dr-7' }, 'all', true],
  ['its only agenda', { agendaId: 'dr-7' }, ['dr-7', 'dr-8'], true],
  ['another agenda', { agendaId: 'dr-7' }, ['dr-8'], false],
  ['a further agenda', { agendaId: 'dr-7', agendaIds: ['dr-7', 'room-2'] }, ['room-2'], true],
  [
    'a further agenda that is not used',
    { agendaId: 'dr-7', agendaIds: ['dr-7', 'room-2'], cut: CUT },
    ['room-2'],
    'unclear',
  ],
  ['the used agenda of several', { agendaId: 'dr-7', agendaIds: ['dr-7', 'room-2'], cut: CUT }, ['dr-7'], true],
  ['no agenda of several', { agendaId: 'dr-7', agendaIds: ['dr-7', 'room-2'], cut: CUT }, ['room-3'], false],
] as const)('an appointment belongs to %s', (_, appointment, agendas, belongs) => {
  expect(belongsTo(appointment, agendas)).toBe(belongs);
});
