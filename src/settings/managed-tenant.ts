import { isScalar, parseDocument, visit } from 'yaml';
import { MirrorError } from '../core/model/errors.ts';
import type { Pieces } from '../core/model/pieces.ts';
import { message } from '../messages/message.ts';
import { type ConfigurationFault, faultIn } from './faults.ts';
import { readYamlInPieces, type YamlRead } from './yaml-file.ts';

/** Content of a managed tenant. */
export interface ManagedContent {
  /** YAML as written by an administrator. */
  yaml: string;
  /** Equivalent JSON, which avoids parsing at each opening. */
  json: string;
  /** Secrets referenced as `{ sealed: NAME }`. */
  secrets: Readonly<Record<string, string>>;
}

/** Stands for all managed tenants after Redis lost all of them: not a possible id. */
export const ALL_MANAGED = '*';

/** A tenant without a file: its document is stored encrypted elsewhere. */
export interface ManagedTenant {
  id: string;
  /** Changes with each edit, even back to an earlier content, so that cached facts of a revision remain valid without opening. */
  revision: string;
  /** The document was damaged or removed from outside, and does not open. */
  isDamaged?: boolean;
  /** The document is missing everywhere. */
  isMissing?: boolean;
  /** The last document required a second operator for some commands. */
  isGuarded?: boolean;
  /**
   * @throws MirrorError `settings`, code `sealing-key-unknown`; or `state-damaged` after a foreign change
   */
  open(): ManagedContent;
}

/** Managed tenants by id. */
export type ManagedTenants = ReadonlyMap<string, ManagedTenant>;

const NAMED = 'managed tenant ';

/** Returns the name of a managed tenant's document in faults, instead of a file name. */
export function managedName(tenant: string): string {
  return `${NAMED}${tenant}`;
}

/** Parses the document like a file, with breaks. Faults contain nothing of its text. */
export function* readManaged(tenant: ManagedTenant): Pieces<YamlRead> {
  const name = managedName(tenant.id);
  let yaml: string;
  try {
    ({ yaml } = tenant.open());
  } catch (error) {
    return { faults: [unopened(name, error)] };
  }
  return yield* readYamlInPieces(name, Buffer.from(yaml));
}

/**
 * Returns a document with variables instead of encrypted secrets; the rest, comments included, is unchanged.
 * @param variableOf returns the variable of a stored secret
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
