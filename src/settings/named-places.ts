/** A machine that a configuration names, and where: `clinicClients.main.baseUrl`. */
export interface NamedPlace {
  host: string;
  at: string;
}

/** Addresses at which we are reached ourselves: the outside may know other names than this machine does. */
const OUR_OWN = new Set(['publicUrl', 'notifications', 'redis']);

/** Every machine that a part of a configuration names by an address or as a server's `host`, but those of secrets. */
export function placesIn(part: unknown, at: readonly string[] = []): NamedPlace[] {
  if (typeof part === 'string') {
    const host = hostOf(part, at.at(-1) === 'host');
    return host === null ? [] : [{ host, at: at.join('.') }];
  }
  if (typeof part !== 'object' || part === null) return [];
  const entries = part instanceof Map ? [...part] : Object.entries(part);
  return entries
    .filter(([name, value]) => !OUR_OWN.has(name) && !isListening(name, value))
    .flatMap(([name, value]) => placesIn(value, [...at, String(name)]));
}

/** Sections of ports that the daemon itself opens: their `host` is one of this machine. */
function isListening(name: string, value: unknown): boolean {
  return (name === 'http' || name === 'operator') && typeof value === 'object' && value !== null && 'port' in value;
}

function hostOf(text: string, isHost: boolean): string | null {
  if (isHost) return text;
  if (!/^https?:\/\//i.test(text)) return null;
  const host = URL.parse(text)?.hostname ?? '';
  return host === '' ? null : host.replace(/^\[|\]$/g, '');
}
