import { isScalar, parseDocument, visit } from 'yaml';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { type ConfigurationFault, faultIn } from './faults.ts';
import { readYaml, type YamlRead } from './yaml-file.ts';

/** What a managed tenant is made of. */
export interface ManagedContent {
  /** What its file would hold, as a person wrote it. */
  yaml: string;
  /** The same as JSON, so that it need not be parsed whenever the tenant is opened. */
  json: string;
  /** The secrets that it names as `{ sealed: NAME }`. */
  secrets: Readonly<Record<string, string>>;
}

/** Stands for all managed tenants where Redis has none and had some: no tenant has such an id. */
export const ALL_MANAGED = '*';

/** A tenant that no file configures: its document is kept elsewhere, sealed. */
export interface ManagedTenant {
  id: string;
  /** Another one with each change, also back to what was before: what is known of one holds, so that it need not be opened. */
  revision: string;
  /** Whether somebody else wrote it, or took it away: it does not open. */
  isForged?: boolean;
  /** Whether it is nowhere any more. */
  isMissing?: boolean;
  /** @throws MirrorError `settings`, code `sealing-key-unknown`; `contract`, code `seal-broken` or `record-forged`, when somebody else changed it */
  open(): ManagedContent;
}

/** Managed tenants by their ids. */
export type ManagedTenants = ReadonlyMap<string, ManagedTenant>;

const NAMED = 'managed tenant ';

/** How faults call the document of a managed tenant, in place of a file's name. */
export function managedName(tenant: string): string {
  return `${NAMED}${tenant}`;
}

/** The document as a file would be read. Faults hold nothing of its text. */
export function readManaged(tenant: ManagedTenant): YamlRead {
  const name = managedName(tenant.id);
  let yaml: string;
  try {
    ({ yaml } = tenant.open());
  } catch (error) {
    return { faults: [unopened(name, error)] };
  }
  return readYaml(name, Buffer.from(yaml));
}

/**
 * A document in which variables stand in place of what is kept sealed; all else is as a person wrote it, comments too.
 * @param variableOf the variable of a secret, by the name that it is kept under
 */
export function withVariables(
  yaml: string,
  variableOf: (secret: string) => string,
): { yaml: string; variables: string[] } {
  const variables = new Set<string>();
  const document = parseDocument(yaml);
  visit(document, {
    Map(_key, { items }) {
      const [pair, ...others] = items;
      if (others.length > 0 || !isScalar(pair?.key) || !isScalar(pair.value) || pair.key.value !== 'sealed') return;
      const variable = variableOf(String(pair.value.value));
      variables.add(variable);
      [pair.key.value, pair.value.value] = ['env', variable];
    },
  });
  return { yaml: variables.size === 0 ? yaml : document.toString({ lineWidth: 0 }), variables: [...variables] };
}

function unopened(file: string, error: unknown): ConfigurationFault {
  const { message: text, remedy } = error instanceof MirrorError ? error.texts : { message: null, remedy: null };
  const cause = text ?? (error instanceof Error ? error.message : message('settings.unopened'));
  return faultIn(file, cause, remedy ?? message('settings.unopened.remedy'));
}
