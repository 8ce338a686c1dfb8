import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import type { World } from '../../../demo/world.ts';
import { booksOf } from './books.ts';
import { startHubSpotSide } from './hubspot.ts';
import { type CrmTotals, isExactCrm, judge, type Tally } from './judge.ts';
import { preparePatients, twinsOf } from './patients.ts';
import { startSalesforceSide } from './salesforce.ts';
import type { CrmSide } from './side.ts';

/** A CRM and the clinic whose patients it is told of. */
export interface Crm extends CrmSide {
  tenant: string;
  clinicId: string;
}

/** What every CRM came to. */
export type CrmResults = Record<CrmSide['vendor'], CrmTotals>;

/** The tenant file as far as it is changed here. */
interface TenantFile {
  connections: Record<string, object>;
  targets: Record<string, object>;
}

/** Gives the first clinic HubSpot and the second Salesforce, with contacts that people made for some of the patients. */
export async function addCrms({ clinic, clinicTenants, configDir, env }: World): Promise<Crm[]> {
  const [first, second] = [...clinicTenants.keys()];
  const sides = [
    { tenant: first ?? '', side: await startHubSpotSide() },
    { tenant: second ?? '', side: await startSalesforceSide() },
  ];
  const crms: Crm[] = [];
  for (const { tenant, side } of sides) {
    const clinicId = clinicTenants.get(tenant) ?? '';
    preparePatients(clinic, clinicId);
    side.addStrangers(twinsOf(clinic, clinicId));
    Object.assign(env, side.env);
    await edit<TenantFile>(join(configDir, 'tenants', `${tenant}.yaml`), (file) => {
      Object.assign(file.connections, side.connections);
      Object.assign(file.targets, side.targets);
    });
    await edit<object>(join(configDir, 'clinic-mirror.yaml'), (file) => Object.assign(file, side.settings));
    crms.push({ ...side, tenant, clinicId });
  }
  return crms;
}

async function edit<File>(path: string, change: (file: File) => void): Promise<void> {
  const file = parse(await readFile(path, 'utf8')) as File;
  change(file);
  await writeFile(path, stringify(file));
}

/**
 * Compares every CRM with the clinic's books.
 * @param since epoch ms at which the cycle began that is to be judged
 */
export function judgeAll(crms: readonly Crm[], { clinic }: Pick<World, 'clinic'>, since: number): CrmResults {
  const results: CrmResults = { hubspot: noTotals(), salesforce: noTotals() };
  for (const { vendor, clinicId, oneOwner, strangersAddresses, holdings } of crms) {
    const rules = { oneOwner, ofStrangers: strangersAddresses() };
    const books = booksOf(clinic, clinicId, [since, Date.now()], rules);
    // Salesforce has contacts alone here.
    const told = vendor === 'salesforce' ? { ...books, activities: [] } : books;
    results[vendor] = judge(holdings(), told);
  }
  return results;
}

function noTally(): Tally {
  return { records: 0, remoteRecords: 0, duplicates: 0, missing: 0, wrong: 0 };
}

function noTotals(): CrmTotals {
  return { contacts: noTally(), activities: noTally(), strangers: { records: 0, changed: 0 } };
}

/** Whether every CRM is as it should be. */
export function areExact(results: CrmResults): boolean {
  return Object.values(results).every(isExactCrm);
}

/** All runs together. */
export function sumOfCrms(all: readonly CrmResults[]): CrmResults {
  const sum = (vendor: CrmSide['vendor']): CrmTotals => {
    const totals = all.map((results) => results[vendor]);
    const records = totals.reduce((most, { strangers }) => Math.max(most, strangers.records), 0);
    const changed = totals.reduce((total, { strangers }) => total + strangers.changed, 0);
    const add = (kind: 'contacts' | 'activities') =>
      totals.reduce((total, { [kind]: tally }) => {
        for (const name of Object.keys(total) as (keyof Tally)[]) total[name] += tally[name];
        return total;
      }, noTally());
    return { contacts: add('contacts'), activities: add('activities'), strangers: { records, changed } };
  };
  return { hubspot: sum('hubspot'), salesforce: sum('salesforce') };
}

/** What is wrong, in words; empty when nothing is. */
export function faultsOf(results: CrmResults): string[] {
  return Object.entries(results).flatMap(([vendor, { contacts, activities, strangers }]) => [
    ...Object.entries({ contacts, activities }).flatMap(([kind, { duplicates, missing, wrong }]) =>
      duplicates + missing + wrong === 0
        ? []
        : [`${vendor} ${kind}: ${duplicates} duplicates, ${missing} missing, ${wrong} wrong`],
    ),
    ...(strangers.changed === 0 ? [] : [`${vendor}: ${strangers.changed} records of strangers changed`]),
  ]);
}
