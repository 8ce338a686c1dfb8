import type { ConnectorDescription } from './configuration.ts';
import { faultAt } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';
import { FREE_BY_DEFAULT } from './tenant-schema.ts';
import type { ValuePath, YamlFile } from './yaml-file.ts';

/** What is known beside the file; null where it could not be read. */
export interface KnownForEntries {
  connectors: ReadonlyMap<string, ConnectorDescription>;
  /** Whether a clinic client's profile tells the addresses that an entry may show. */
  links(clinicClient: string): Readonly<Record<'page' | 'teleVisit', boolean>> | null;
}

/** What a calendar's entries are to show must be clear, told by the clinic, and have a place at the vendor. */
export function checkEntries(file: YamlFile, at: ValuePath, known: KnownForEntries): ConfigurationFault[] {
  return [...checkTentative(file, at), ...checkLinks(file, at, known), ...checkPresets(file, at, known)];
}

/** An appointment blocks its time, leaves it free, or is tentative. */
function checkTentative(file: YamlFile, at: ValuePath): ConfigurationFault[] {
  const path = [...at, 'tentative'];
  const free = file.valueAt([...at, 'free']) ?? FREE_BY_DEFAULT;
  const tentative = file.valueAt(path);
  if (!Array.isArray(tentative) || !Array.isArray(free)) return [];
  const both = tentative.find((status) => free.includes(status));
  if (both === undefined) return [];
  const message = `${both} is among free too, which is ${free.join(', ')}`;
  return [faultAt(file, path, message, 'name each status in one of the two')];
}

/** Where the profile tells no address there is none to show. */
function checkLinks(file: YamlFile, at: ValuePath, known: KnownForEntries): ConfigurationFault[] {
  const path = [...at, 'links'];
  const links = file.valueAt(path);
  const told = known.links(String(file.valueAt(['clinic', 'client'])));
  if (!Array.isArray(links) || told === null) return [];
  return links
    .filter((name) => told[name as keyof typeof told] === false)
    .map((name) => {
      const key = `appointments.${name === 'page' ? 'pageUrl' : 'teleVisitUrl'}`;
      return faultAt(
        file,
        path,
        `the clinic profile tells no address for ${name}`,
        `set ${key} there, or leave it out`,
      );
    });
}

/** What a vendor has no place for can't be asked of it. */
function checkPresets(file: YamlFile, at: ValuePath, { connectors }: KnownForEntries): ConfigurationFault[] {
  const name = String(file.valueAt([...at, 'connector']));
  const connector = connectors.get(name);
  if (connector?.holds !== 'events') return [];
  const presets = connector.supports.presets ?? [];
  const refuse = (path: ValuePath, preset: string, remedy: string) =>
    file.valueAt(path) === undefined || presets.includes(preset)
      ? []
      : [faultAt(file, path, `${name} has no place for it`, remedy)];
  const labels = file.valueAt([...at, 'labels']);
  const reminder = [...at, 'reminderMinutes'];
  return [
    ...(Array.isArray(labels) ? labels : []).flatMap((_, index) => [
      ...refuse(
        [...at, 'labels', index, 'colour'],
        'colour',
        'give a category, whose colour is chosen in the calendar',
      ),
      ...refuse([...at, 'labels', index, 'category'], 'category', 'give a colour'),
    ]),
    ...(file.valueAt(reminder) === 'none'
      ? refuse(reminder, 'noAlert', 'leave it out: entries are made without reminders')
      : []),
  ];
}
