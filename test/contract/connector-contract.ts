import { afterAll, describe, expect, test } from 'vitest';
import { activityCases, calendarCases, contactCases } from './cases/index.ts';
import { createOwnKit, type OwnTarget, personsOwn } from './cases/persons-own.ts';
import { presets } from './cases/presets.ts';
import type { ContractCase } from './contract-case.ts';
import { createKit } from './contract-kit.ts';
import type { ContractTarget } from './contract-target.ts';
import { createContact, createCrmKit } from './crm-kit.ts';
import type { CrmTarget } from './crm-target.ts';
import { type CaseResult, saveReport } from './report.ts';

/** Options of a connector's test file. */
export interface ContractOptions {
  /** Cases that cannot exist for this vendor or its test server: title, or group → the reason, which the report shows. */
  skips?: Readonly<Record<string, string>>;
  /** Groups of cases to run, if another run covers the others; default: every group. */
  groups?: readonly string[];
  /** Groups that another file of this connector runs. */
  except?: readonly string[];
  /** Name of this file's part of the report, if the connector has several files; default: the main part. */
  part?: string;
}

/**
 * Runs the suite that every connector of calendars must pass, each case on a fresh target, and keeps the results in
 * `.cache/contract/`.
 * @param name the connector's name, as in the registry
 * @param open gives a fresh, empty target for one case
 */
export function describeConnector(
  name: string,
  open: () => Promise<ContractTarget>,
  options: ContractOptions = {},
): void {
  describeCases(name, calendarCases, open, createKit, options);
}

/**
 * Runs the cases about properties that users set on managed events, for calendar connectors whose target can make a user's changes. Keeps
 * the results in `.cache/contract/<name>-own.json`.
 */
export function describePersonsOwn(name: string, open: () => Promise<OwnTarget>, options: ContractOptions = {}): void {
  describeCases(`${name}-own`, [...personsOwn, ...presets], open, createOwnKit, options);
}

/**
 * Runs the contract for a CRM connector twice: see {@link describeContacts} and {@link describeActivities}.
 * @param options skips of the contacts, and separately those of the activities
 */
export function describeCrmConnector(
  name: string,
  open: () => Promise<CrmTarget>,
  { activities = {}, ...options }: ContractOptions & { activities?: ContractOptions } = {},
): void {
  describeContacts(name, open, options);
  describeActivities(name, open, activities);
}

/** Runs the contract for a CRM connector with contacts, including cases of families and of objects that belong to contacts. */
export function describeContacts(name: string, open: () => Promise<CrmTarget>, options: ContractOptions): void {
  describeCases(name, contactCases, open, createCrmKit, options);
}

/** Runs the contract for a CRM connector with activities of one contact, as `<name>-activities`. */
export function describeActivities(name: string, open: () => Promise<CrmTarget>, options: ContractOptions): void {
  describeCases(`${name}-activities`, activityCases, () => openActivities(open), createCrmKit, options);
}

/** Opens the activities of one existing contact. */
async function openActivities(open: () => Promise<CrmTarget>): Promise<CrmTarget> {
  const patients = await open();
  const { key } = await createContact(createCrmKit(patients), 'patient');
  const target = await patients.beside('appointments');
  target.proxy.forget();
  return { ...target, belonging: { ...target.belonging, contactKey: key }, close: () => patients.close() };
}

function describeCases<Target extends { close(): Promise<void> }, Kit>(
  name: string,
  every: readonly ContractCase<Kit>[],
  open: () => Promise<Target>,
  toKit: (target: Target) => Kit,
  { skips = {}, groups, except = [], part }: ContractOptions,
): void {
  const reasonOf = ({ title, group }: ContractCase<Kit>) => skips[title] ?? skips[group] ?? null;
  const chosen = every.filter(({ group }) => (groups?.includes(group) ?? true) && !except.includes(group));
  // A case that cannot exist for the vendor is a row of the report, not a test.
  const cases = chosen.filter((one) => reasonOf(one) === null);
  const results: CaseResult[] = chosen.flatMap((one) => {
    const reason = reasonOf(one);
    return reason === null ? [] : [{ group: one.group, title: one.title, result: 'skipped', reason }];
  });
  describe(`the contract of connectors: ${name}`, () => {
    for (const group of new Set(cases.map((one) => one.group))) {
      describe(group, () => {
        for (const { title, run } of cases.filter((one) => one.group === group)) {
          test(title, async (context) => {
            context.onTestFinished(({ task }) => {
              const result = task.result?.state === 'pass' ? 'passed' : 'failed';
              results.push({ group, title, result, reason: null });
            });
            const target = await open();
            try {
              await run(toKit(target));
            } finally {
              await target.close();
            }
          });
        }
      });
    }
    test('skips name existing cases and groups', () => {
      const titles = new Set(every.map((one) => one.title));
      expect(titles.size, 'two cases carry the same title').toBe(every.length);
      const known = new Set(every.map((one) => one.group));
      expect(Object.keys(skips).filter((name) => !titles.has(name) && !known.has(name))).toEqual([]);
      expect([...(groups ?? []), ...except].filter((group) => !known.has(group))).toEqual([]);
    });
    afterAll(() => {
      if (results.length === chosen.length) saveReport({ connector: name, cases: results, part });
    });
  });
}
