import { createHash } from 'node:crypto';
import type { ActVerb } from '../../core/model/acts.ts';
import type { Page } from '../../core/model/schemas.ts';
import { NAME, NAME_REMEDY } from '../../core/model/text.ts';
import { inPieces } from '../../core/pieces/in-pieces.ts';
import { message, type Text, withRemedy } from '../../messages/message.ts';
import { type PageQuestion, pageOf } from '../../operator/control/paging.ts';
import { type ActAbout, type Acting, recordAct } from '../../operator/control/recording.ts';
import { type ApprovalSettings, approvalsWith, hasApprovals, loosensApprovals } from '../../settings/access-schema.ts';
import type { ConfigurationFiles } from '../../settings/configuration-files.ts';
import { ConfigurationError, type ConfigurationFault, faultIn, faultsAsSeen } from '../../settings/faults.ts';
import {
  ALL_MANAGED,
  type ManagedContent,
  type ManagedTenant,
  managedName,
  withVariables,
} from '../../settings/managed-tenant.ts';
import { EMPTY_SECRET_REMEDY, sealedNamesIn } from '../../settings/secret-reference.ts';
import { tenantVariable } from '../../settings/tenant-secrets.ts';
import { readBytes, readYamlInPieces } from '../../settings/yaml-file.ts';
import { noSuchTenant, revisionChanged, revisionMissing, tenantExists, tenantRefusal } from './errors.ts';
import type { TenantChanged, TenantDocument, TenantSource } from './schemas.ts';
import type { ManagedTenantStore } from './store.ts';

const CHECK = message('tenant-faulty.remedy');
/** Longest accepted secret, as for a secret in a file. */
const MOST_SECRET_CHARACTERS = 65_536;

/** Services that change tenant configurations, built by `daemon/`. */
export interface ConfigurationServices {
  files: Pick<ConfigurationFiles, 'fileOf' | 'faultsOf' | 'configuration'>;
  store: ManagedTenantStore;
  /** Applies changes in this process. Other processes apply changes at their next check. */
  follow(): Promise<void>;
}

/** New configuration of a tenant. */
export interface WantedDocument {
  yaml: string;
  /** Secrets by name in the document. Secrets not given remain. */
  secrets: Readonly<Record<string, string>>;
}

/** Lists tenants by id, with the place of each configuration. @throws MirrorError `settings`, code `cursor-unusable` */
export async function listSources(
  services: ConfigurationServices,
  isWanted: (tenant: string) => boolean,
  question: PageQuestion,
): Promise<Page<TenantSource>> {
  const { tenants } = await services.store.read();
  const { outlines, unusable, unchecked } = services.files.configuration;
  // Faults of files without a tenant are reported elsewhere.
  const ids = [...outlines.keys(), ...unusable.map(({ id }) => id), ...unchecked].filter((id) => NAME.test(id));
  const all = [...new Set([...ids, ...tenants.keys()])].filter(isWanted);
  const page = pageOf(all, question, (id) => id);
  return { ...page, items: page.items.map((id) => sourceOf(services, id, tenants.get(id)?.revision ?? null)) };
}

/**
 * Returns the configuration of a tenant, running or not.
 * @param maySee whether the caller may see a tenant; faults mention no other tenant
 * @throws MirrorError `settings`, code `no-such-tenant`
 */
export async function readDocument(
  services: ConfigurationServices,
  tenant: string,
  maySee: (tenant: string) => boolean,
): Promise<TenantDocument> {
  const stored = await services.store.find(tenant);
  const faults = faultsAsSeen(faultsNow(services, tenant), maySee);
  if (stored !== null) {
    const content = contentOf(stored);
    const secrets = Object.keys(content?.secrets ?? {});
    return { ...sourceOf(services, tenant, stored.revision), yaml: content?.yaml ?? null, secrets, faults };
  }
  const source = sourceOf(services, tenant, null);
  if (source.file === null) throw noSuchTenant(tenant);
  return { ...source, yaml: textOf(source.file), secrets: [], faults };
}

/**
 * Returns every fault of a new configuration, without storing the configuration.
 * @throws MirrorError `settings`, code `tenant-in-file`
 */
export async function checkDocument(
  services: ConfigurationServices,
  tenant: string,
  wanted: WantedDocument,
): Promise<ConfigurationFault[]> {
  const { stored, before } = await managedNow(services, tenant);
  if (stored === null) requireNoFile(services, tenant);
  const built = await contentFor(tenant, wanted, before);
  return 'faults' in built ? built.faults : await faultsOf(services, tenant, built.content);
}

/**
 * Returns a document as a file.
 * @returns with the environment variables that replace the encrypted secrets
 * @throws MirrorError `settings`, code `configuration`, for an unreadable document
 */
export function documentForFile({ tenant, file, yaml }: TenantDocument): {
  file: string;
  yaml: string;
  variables: string[];
} {
  if (yaml === null) throw tenantRefusal('configuration', message('managed.unreadable', { tenant }), { remedy: CHECK });
  return { file: file ?? `tenants/${tenant}.yaml`, ...withVariables(yaml, (name) => variableOf(tenant, name)) };
}

/** Returns names of the secrets that a document requires; empty for an unreadable document. */
export async function neededSecrets(yaml: string): Promise<string[]> {
  const read = await inPieces(readYamlInPieces('', Buffer.from(yaml)));
  return 'faults' in read ? [] : sealedNamesIn(read.file.value);
}

/** A valid change of a managed tenant. */
export interface TenantChange {
  tenant: string;
  /** Null: the tenant is removed. */
  content: ManagedContent | null;
  /** Null: the tenant is new, or its document is unreadable. */
  before: ManagedContent | null;
  /** Revision that the change replaces; null: the tenant is new. */
  revision: string | null;
  /** Rules of a replaced document that cannot be read: `required` by the last document, `possible`, or none. */
  hiddenRules: 'required' | 'possible' | 'none';
}

/**
 * Plans the addition of a managed tenant.
 * @throws ConfigurationError with all faults; MirrorError `settings`, code `tenant-in-file`, `tenant-exists`
 */
export async function planAddition(
  services: ConfigurationServices,
  tenant: string,
  wanted: WantedDocument,
): Promise<TenantChange> {
  const { stored, before, hiddenRules } = await managedNow(services, tenant);
  if (stored !== null && stored.isMissing !== true) throw tenantExists(tenant);
  requireNoFile(services, tenant);
  // An addition over a lost record replaces the record, with its rules.
  const content = await requireContent(services, tenant, wanted, null);
  return { tenant, content, before, revision: stored?.revision ?? null, hiddenRules };
}

/**
 * Plans a change or removal of a managed tenant.
 * @param wanted null: removal
 * @param revision revision that the user saw; null for none
 * @throws ConfigurationError with all faults; MirrorError `settings`, code `no-such-tenant`, `tenant-in-file`; `conflict`, code
 * `revision-missing`, `revision-changed`
 */
export async function planReplacement(
  services: ConfigurationServices,
  tenant: string,
  wanted: WantedDocument | null,
  revision: string | null,
): Promise<TenantChange> {
  const { stored, before, hiddenRules } = await managedNow(services, tenant);
  if (stored === null) {
    requireNoFile(services, tenant);
    throw noSuchTenant(tenant);
  }
  if (revision === null) throw revisionMissing(tenant);
  if (stored.revision !== revision) throw revisionChanged(tenant);
  const content = wanted === null ? null : await requireContent(services, tenant, wanted, before);
  return { tenant, content, before, revision, hiddenRules };
}

/**
 * Plans the conversion of a tenant with a file into a managed tenant. The state remains; the file is then ignored.
 * @throws ConfigurationError with all faults of the file; MirrorError `settings`, code `no-such-tenant`, `tenant-exists`
 */
export async function planAdoption(services: ConfigurationServices, tenant: string): Promise<TenantChange> {
  const { stored, before, hiddenRules } = await managedNow(services, tenant);
  if (stored !== null) throw tenantExists(tenant);
  const file = services.files.fileOf(tenant);
  if (file === null) throw noSuchTenant(tenant);
  const read = readBytes(file);
  if ('faults' in read) throw new ConfigurationError(read.faults);
  const wanted = { yaml: read.bytes.toString('utf8'), secrets: {} };
  const content = await requireContent(services, tenant, wanted, null);
  return { tenant, content, before, revision: null, hiddenRules };
}

/**
 * Records and makes a planned change, unless the tenant changed since planning. Data of a removed tenant is deleted after the retention, as
 * for a deleted file.
 * @throws MirrorError `conflict`, code `revision-changed`; `settings`, code `tenant-exists`; and errors of `recordAct`
 */
export function changeTenant(
  acting: Acting,
  services: ConfigurationServices,
  verb: ActVerb,
  planned: TenantChange,
): Promise<TenantChanged> {
  const { tenant, content, revision } = planned;
  const subject = createHash('sha256')
    .update(JSON.stringify([content, revision]))
    .digest('base64url');
  const about: ActAbout = {
    ...{ verb, tenant, what: { revision, secrets: Object.keys(content?.secrets ?? {}).length } },
    second: { subject, isNeeded: (policy) => needsSecond(planned, policy) },
  };
  const work = () => (verb === 'accept-tenant' ? acceptAsStored(services, planned) : makeChange(services, planned));
  return recordAct(acting, about, work, ({ revision: now }) => ({ now, counter: services.store.counter() }));
}

/** @param policy of the running tenant. For a tenant that does not run, only the stored content has the policy. */
function needsSecond({ content, before, hiddenRules }: TenantChange, policy: ApprovalSettings): boolean {
  if (before === null) {
    const hasRules = policy.forget || policy.restore || policy.holdsAbove !== undefined;
    return policy.configuration || hiddenRules === 'required' || (hiddenRules === 'possible' && hasRules);
  }
  const document: unknown = JSON.parse(before.json);
  const strict = approvalsWith(policy, document);
  const hasRules = strict.holdsAbove !== undefined || strict.forget || strict.restore;
  // Removal and addition would otherwise bypass the approval policy.
  return strict.configuration || (hasRules && loosensApprovals(document, JSON.parse(content?.json ?? '{}')));
}

async function makeChange(
  services: ConfigurationServices,
  { tenant, content, revision }: TenantChange,
): Promise<TenantChanged> {
  const file = services.files.fileOf(tenant);
  const next =
    content === null
      ? null
      : await services.store.put(tenant, content, revision, hasApprovals(JSON.parse(content.json)));
  const isDone = content === null ? await services.store.remove(tenant, revision ?? '') : next !== null;
  if (!isDone) throw revision === null ? tenantExists(tenant) : revisionChanged(tenant);
  await services.follow();
  return { tenant, revision: next, file };
}

/** Accepts the Redis record of a tenant that is `state-damaged`. */
async function acceptAsStored(
  services: ConfigurationServices,
  { tenant, revision }: TenantChange,
): Promise<TenantChanged> {
  if (!(await services.store.accept(tenant, revision ?? ''))) throw revisionChanged(tenant);
  await services.follow();
  const stored = await services.store.find(tenant);
  return { tenant, revision: stored?.revision ?? null, file: services.files.fileOf(tenant) };
}

/** Lists managed tenants that were changed or deleted directly in Redis, with their revisions. */
export async function damagedTenants({
  store,
}: ConfigurationServices): Promise<{ tenant: string; revision: string }[]> {
  const { tenants, damaged } = await store.read();
  return damaged.map((tenant) => ({ tenant, revision: tenants.get(tenant)?.revision ?? '' }));
}

/** Returns the content to store for a document with secrets. @throws ConfigurationError with all faults */
async function requireContent(
  services: ConfigurationServices,
  tenant: string,
  wanted: WantedDocument,
  before: ManagedContent | null,
): Promise<ManagedContent> {
  const built = await contentFor(tenant, wanted, before);
  const faults = 'faults' in built ? built.faults : await faultsOf(services, tenant, built.content);
  if ('faults' in built || faults.length > 0) throw new ConfigurationError(faults);
  return built.content;
}

/** Secrets not given remain. Secrets that the document does not use are deleted. */
async function contentFor(
  tenant: string,
  { yaml, secrets: newSecrets }: WantedDocument,
  before: ManagedContent | null,
): Promise<{ content: ManagedContent } | { faults: ConfigurationFault[] }> {
  const file = managedName(tenant);
  if (!NAME.test(tenant)) return { faults: [faultOf(file, '', message('managed.bad-id'), NAME_REMEDY)] };
  const read = await inPieces(readYamlInPieces(file, Buffer.from(yaml)));
  if ('faults' in read) return { faults: read.faults };
  const named = sealedNamesIn(read.file.value);
  const faults = Object.entries(newSecrets).flatMap(([name, value]) => secretFaults(file, name, value, named));
  if (faults.length > 0) return { faults };
  const mergedSecrets = new Map([...Object.entries(before?.secrets ?? {}), ...Object.entries(newSecrets)]);
  const secrets = named.flatMap((name) => {
    const value = mergedSecrets.get(name);
    return value === undefined ? [] : [[name, value.trim()] as const];
  });
  return { content: { yaml, json: JSON.stringify(read.file.value), secrets: Object.fromEntries(secrets) } };
}

function secretFaults(file: string, name: string, value: string, named: readonly string[]): ConfigurationFault[] {
  const path = `secrets.${NAME.test(name) ? name : '…'}`;
  if (value.trim() === '') return [faultOf(file, path, message('managed.secret-empty'), EMPTY_SECRET_REMEDY)];
  if (value.length > MOST_SECRET_CHARACTERS) return [faultOf(file, path, ...withRemedy('managed.secret-long'))];
  if (named.includes(name)) return [];
  return [faultOf(file, path, ...withRemedy('managed.secret-unnamed'))];
}

function faultOf(file: string, path: string, text: Text, remedy: Text): ConfigurationFault {
  return faultIn(file, text, remedy, { path });
}

function faultsOf(
  { files }: ConfigurationServices,
  tenant: string,
  content: ManagedContent,
): Promise<ConfigurationFault[]> {
  return inPieces(files.faultsOf({ id: tenant, revision: '', open: () => content }));
}

/** Returns the stored tenant, and its content and rules, also of a tenant that Redis lost. */
async function managedNow(
  { store }: ConfigurationServices,
  tenant: string,
): Promise<{ stored: ManagedTenant | null } & Pick<TenantChange, 'before' | 'hiddenRules'>> {
  const { tenants, lost } = await store.read();
  const stored = tenants.get(tenant) ?? null;
  const existing = stored ?? lost.get(tenant) ?? tenants.get(ALL_MANAGED);
  const before = existing === undefined ? null : contentOf(existing);
  const isHidden = existing !== undefined && before === null;
  return { stored, before, hiddenRules: !isHidden ? 'none' : existing.isGuarded === true ? 'required' : 'possible' };
}

function requireNoFile({ files }: ConfigurationServices, tenant: string): void {
  const file = files.fileOf(tenant);
  if (file === null) return;
  throw tenantRefusal('tenant-in-file', message('managed.in-file', { tenant, file }), {
    remedy: message('managed.in-file.remedy', { tenant }),
  });
}

/** Undecryptable content is reported as a fault. */
function contentOf(stored: ManagedTenant): ManagedContent | null {
  try {
    return stored.open();
  } catch {
    return null;
  }
}

function sourceOf({ files }: ConfigurationServices, tenant: string, revision: string | null): TenantSource {
  if (revision !== null) return { tenant, source: 'managed', file: null, revision };
  return { tenant, source: 'file', file: files.fileOf(tenant), revision };
}

function textOf(file: string): string | null {
  const read = readBytes(file);
  return 'faults' in read ? null : read.bytes.toString('utf8');
}

/** Returns faults of the present configuration, running or not. */
function faultsNow({ files }: ConfigurationServices, tenant: string): readonly ConfigurationFault[] {
  const { refused, unusable } = files.configuration;
  const found = refused.find((each) => each.tenant === tenant) ?? unusable.find(({ id }) => id === tenant);
  return found?.faults ?? [];
}

function variableOf(tenant: string, secret: string): string {
  const own = secret.toUpperCase().replaceAll(/-+/g, '_').replaceAll(/^_|_$/g, '');
  return tenantVariable(tenant, own);
}
