import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FactSearch } from '../../src/core/model/patient-facts.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import { contactsBefore } from '../../src/domain/crm-rules.ts';
import type { Planning } from '../../src/domain/cycle-input.ts';
import { describeEvent, shownOf, windowOf } from '../../src/domain/mapping-sources.ts';
import { eventRule, viewOf } from '../../src/domain/views.ts';
import { type Diff, diff } from '../../src/engine/diff.ts';
import { patientOf } from '../tenant/world.ts';
import { appointmentOf } from './arbitraries.ts';
import { type CycleChoice, cycleChoices, cycleInputOf, quiet } from './cycle-input.ts';

function planningOf(choice: CycleChoice): Planning {
  return { ...cycleInputOf(choice), facts: new FactSearch() };
}

/** A target's view, with what a comparison by it finds. */
function viewIn(planning: Planning, id: string) {
  const input = planning.targets.find(({ target }) => target.id === id)!;
  const view = atOnce(viewOf(input, planning, contactsBefore(planning)));
  const window = windowOf(input.target, planning.now);
  const omitted: string[] = [];
  const common = {
    ...{ vanished: new Set<string>(), tombstones: [], window, restores: () => false },
    ...{ identity: input.target.identity, state: input.state },
    onOmitted: (recordId: string, code: string) => void omitted.push(`${recordId} ${code}`),
  };
  return { input, view, window, common, omitted, compare: () => atOnce(view.compare(common)) };
}

describe('an event', () => {
  const ruleWith = (choice: Partial<CycleChoice>) => {
    const planning = planningOf(quiet(choice));
    const rule = eventRule(planning.targets.find(({ target }) => target.id === 'doctor')!, planning);
    return (changes: Parameters<typeof appointmentOf>[1]) => {
      const decision = rule(appointmentOf('1', changes), () => 'k'.repeat(32));
      return 'exclude' in decision ? decision.exclude : 'retain' in decision ? decision.retain : 'item';
    };
  };

  test('is shown, or left out with the code of the rule', () => {
    const codeOf = ruleWith({ forgotten: ['9'] });
    expect(codeOf({})).toBe('item');
    expect(codeOf({ agendaId: 'a2' })).toBe('agenda');
    expect(codeOf({ status: 'cancelled' })).toBe('status');
    expect(codeOf({ patientId: '9' })).toBe('forgotten');
  });

  test('of several patients is forgotten with the last of them', () => {
    const several = { patientId: '9', patientIds: ['9', '8'] };
    expect(ruleWith({ forgotten: ['9'] })(several)).toBe('item');
    expect(ruleWith({ forgotten: ['8', '9'] })(several)).toBe('forgotten');
  });

  test('that is pinned is shown whatever the rules say, unless it is cancelled or its patient forgotten', () => {
    const codeOf = ruleWith({ pinned: ['1'], forgotten: ['9'] });
    expect(codeOf({ agendaId: 'a2' })).toBe('item');
    expect(codeOf({ status: 'no_show' })).toBe('item');
    expect(codeOf({ status: 'cancelled' })).toBe('status');
    expect(codeOf({ patientId: '9' })).toBe('forgotten');
  });
});

describe('a view', () => {
  test('contains the list, and records fetched individually', () => {
    const before = quiet().now;
    const now = { ...before, appointments: before.appointments.slice(1), patients: before.patients.slice(1) };
    const shown = (alone: CycleChoice['alone'], id: string) =>
      ['1', '2', '3'].filter(viewIn(planningOf(quiet({ now, alone })), id).view.shows);
    for (const id of ['clinic', 'contacts', 'activities']) {
      expect(shown(['nothing'], id)).toEqual(['2']);
      expect(shown(['found'], id)).toEqual(['1', '2']);
    }
    expect(shown(['nothing'], 'deals')).toEqual(['1', '2']);
  });

  test('of activities contains the visits of several patients, and one of a calendar does not', () => {
    const { now } = quiet();
    const group = { ...appointmentOf('3', { patientId: '1' }), patientIds: ['1', '2'] };
    const planning = planningOf(quiet({ now: { ...now, appointments: [...now.appointments, group] } }));
    const visit = { ...group, id: '4~patient:1', patientIds: undefined as never };
    planning.confirmations.appointments.found.push(visit);
    const ids = ['3', '3~patient:1', '3~patient:2', visit.id];
    const shown = (id: string) => ids.filter(viewIn(planning, id).view.shows);
    expect(shown('activities')).toEqual(ids);
    for (const id of ['clinic', 'doctor']) {
      expect(shown(id)).toEqual(['3']);
      expect(
        viewIn(planning, id)
          .compare()
          .changes.map(({ recordId }) => recordId),
      ).not.toContain(visit.id);
    }
  });

  test('of contacts counts values that had to be left empty while it is compared', () => {
    const now = { ...quiet().now, patients: [patientOf('1', { mobilePhone: 'none' }), patientOf('2')] };
    const { view, compare } = viewIn(planningOf(quiet({ now })), 'contacts');
    expect(view.unusable).toEqual({});
    compare();
    expect(view.unusable).toEqual({ phone: 1 });
  });

  test('of one agenda finds the same appointments as a search of all, and counts the skipped ones', () => {
    fc.assert(
      fc.property(cycleChoices, (choice) => {
        const planning = planningOf({ ...choice, reach: 'whole' });
        const { input, view, window, common, omitted, compare } = viewIn(planning, 'doctor');
        const found = compare();
        const passedOver = view.countPassedOver(window);
        const looked = omitted.splice(0);
        const records = shownOf(planning.clinicReading, planning.confirmations.appointments.found);
        const rule = eventRule(input, planning);
        const whole = atOnce(diff({ ...common, records, describe: describeEvent, rule }));
        expect(byRecord(found)).toEqual(byRecord(whole));
        expect(looked.length + (passedOver.agenda ?? 0)).toBe(omitted.length);
      }),
      { numRuns: 15 },
    );
  });
});

/** Without an order. */
function byRecord({ changes, unchanged, released }: Diff) {
  return {
    changes: new Map(changes.map((change) => [change.recordId, change])),
    unchanged,
    released: new Set(released),
  };
}
