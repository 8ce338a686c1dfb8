import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { atOnce } from '../../src/core/model/pieces.ts';
import { checkCrm } from '../../src/settings/crm-checks.ts';
import { type CrmFile, crmSchema } from '../../src/settings/crm-schema.ts';
import { checkInPieces, FilePart } from '../../src/settings/describe-issue.ts';
import type { ConfigurationFault } from '../../src/settings/faults.ts';
import { readYamlFile, type YamlFile } from '../../src/settings/yaml-file.ts';

/** A tenant file as far as the part for a CRM needs it, with what is given as `targets`. */
export function tenantWith(targets: string): YamlFile {
  const dir = mkdtempSync(join(tmpdir(), 'crm-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const fileName = join(dir, 'uno.yaml');
  writeFileSync(fileName, `clinic: { client: main }\ntargets:\n${targets}`);
  const read = readYamlFile(fileName);
  if ('faults' in read) throw new Error(read.faults.map(({ message }) => message).join());
  return read.file;
}

/** A tenant file whose only target `people` has these lines as its part for a CRM, indented by six. */
export function tenantWithPart(lines: string): YamlFile {
  const indented = lines.trim().replaceAll(/^/gm, '      ');
  return tenantWith(`  people:\n    connector: hubspot\n    connection: crm\n    crm:\n${indented}\n`);
}

/** Returns faults of the schema, or faults of the checks if the schema finds none. */
export function faultsOf(file: YamlFile, target = 'people'): ConfigurationFault[] {
  const checked = atOnce(checkInPieces(file, crmSchema, ['targets', target, 'crm']));
  if ('faults' in checked) return checked.faults;
  const found = checkCrm(new FilePart(file, ['targets', target]), { consents: () => ['privacy', 'marketing'] });
  return [...found].filter((fault) => fault !== undefined);
}

/** A part for a CRM as read; it must be without faults. */
export function crmOf(lines: string): CrmFile {
  const file = tenantWithPart(lines);
  const faults = faultsOf(file).map(({ path, message }) => `${path}: ${message}`);
  if (faults.length > 0) throw new Error(faults.join('; '));
  return crmSchema.parse(file.valueAt(['targets', 'people', 'crm']));
}

/** Returns a target that belongs to the target with the contacts. @param stream of its objects */
export function crmBesideContacts(stream: 'appointments' | 'invoices', lines: string): CrmFile {
  const place = '    connector: hubspot\n    connection: crm\n';
  const part = `stream: ${stream}\ncontacts: people\n${lines.trim()}`.replaceAll(/^/gm, '      ');
  const file = tenantWith(
    `  people:\n${place}    crm: { mapping: { a: email } }\n  theirs:\n${place}    crm:\n${part}\n`,
  );
  const faults = faultsOf(file, 'theirs').map(({ path, message }) => `${path}: ${message}`);
  if (faults.length > 0) throw new Error(faults.join('; '));
  return crmSchema.parse(file.valueAt(['targets', 'theirs', 'crm']));
}
