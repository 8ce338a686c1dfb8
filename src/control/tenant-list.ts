import type { Problem } from '../model/problems.ts';
import type { Instant } from '../model/time.ts';
import type { Installation } from './installation.ts';
import { type Page, type PageQuestion, pageOf } from './paging.ts';
import { status } from './status.ts';
import type { CanGoOn, InStep, Status, TenantStatus } from './status-view.ts';

/** A tenant in a list: where it stands, all its targets together. */
export interface TenantLine {
  tenant: string;
  /** Null where its configuration has faults. */
  name: string | null;
  paused: boolean;
  /** The worst of its targets. */
  inStep: InStep;
  canGoOn: CanGoOn;
  targets: number;
  /** All its targets showed what the clinic showed at this time; null where one never did, or there are none. */
  inSyncAsOf: Instant | null;
  pending: number;
  failing: number;
  held: number;
  /** Faults of its configuration, for which it is not run; 0 for none. */
  faults: number;
  /** What is the matter: what needs a person first. */
  problems: Problem[];
}

const WORST_IN_STEP: readonly InStep[] = ['unknown', 'held', 'behind', 'in-sync'];
const WORST_CAN_GO_ON: readonly CanGoOn[] = ['waits-for-person', 'waits-for-vendor', 'yes'];

/**
 * Tenants by their ids, those that are not run for faults among them. Only those of the page are looked at.
 * @param isWanted by id
 * @throws MirrorError `settings`, code `cursor-unusable`
 */
export async function listTenants(
  installation: Installation,
  isWanted: (tenant: string) => boolean,
  question: PageQuestion,
): Promise<Page<TenantLine>> {
  const faults = new Map(installation.setAside.map(({ id, faults: found }) => [id, found.length]));
  const page = pageOfTenants(installation, isWanted, question);
  const { tenants, problems } = await status(
    installation,
    page.items.filter((id) => installation.tenants.get(id) !== undefined),
  );
  const byId = new Map(tenants.map((tenant) => [tenant.tenant, tenant]));
  const items = page.items.map((id) => ({
    ...lineOf(id, byId.get(id)),
    faults: faults.get(id) ?? 0,
    problems: problems.filter(({ tenant }) => tenant === id),
  }));
  return { ...page, items };
}

function pageOfTenants(
  { tenants, setAside }: Installation,
  isWanted: (tenant: string) => boolean,
  question: PageQuestion,
): Page<string> {
  const all = new Set([...tenants.keys(), ...setAside.map(({ id }) => id)]);
  return pageOf([...all].filter(isWanted), question, (id) => id);
}

/** What a page of problems is asked by: whose, and whether what concerns all belongs to it. */
export interface ProblemQuestion extends PageQuestion {
  isWanted(tenant: string): boolean;
  withAll: boolean;
}

/**
 * What is the matter, by the ids of tenants, of which a page has so many; what concerns all comes first. By a status of all clinics: some of it is
 * only told of them together.
 * @throws MirrorError `settings`, code `cursor-unusable`
 */
export function listProblems(
  installation: Installation,
  { problems }: Pick<Status, 'problems'>,
  question: ProblemQuestion,
): { problems: Problem[]; next: string | null } {
  const { items, next } = pageOfTenants(installation, question.isWanted, question);
  const ofAll = question.withAll && question.after === null ? problems.filter(({ tenant }) => tenant === null) : [];
  return { problems: [...ofAll, ...items.flatMap((id) => problems.filter(({ tenant }) => tenant === id))], next };
}

function lineOf(id: string, tenant: TenantStatus | undefined): Omit<TenantLine, 'faults' | 'problems'> {
  const targets = tenant?.targets ?? [];
  const sum = (count: 'pending' | 'failing' | 'held') => targets.reduce((all, target) => all + target[count], 0);
  const asOf = targets.map(({ inSyncAsOf }) => inSyncAsOf ?? 0);
  return {
    tenant: id,
    name: tenant?.name ?? null,
    paused: tenant?.paused ?? false,
    inStep: WORST_IN_STEP.find((each) => targets.some(({ inStep }) => inStep === each)) ?? 'unknown',
    canGoOn: WORST_CAN_GO_ON.find((each) => targets.some(({ canGoOn }) => canGoOn === each)) ?? 'waits-for-person',
    targets: targets.length,
    inSyncAsOf: (targets.length === 0 ? 0 : Math.min(...asOf)) || null,
    ...{ pending: sum('pending'), failing: sum('failing'), held: sum('held') },
  };
}
