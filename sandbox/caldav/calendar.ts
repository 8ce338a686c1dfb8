import { createHash } from 'node:crypto';
import { entriesAfter } from '../kit/change-log.ts';
import type { CalendarObject } from './objects.ts';

/** One calendar of the account. */
export class Calendar {
  readonly displayName: string;
  readonly description: string;
  readonly objects = new Map<string, CalendarObject>();
  readonly #log: { change: number; name: string }[] = [];
  readonly #id: string;
  #change = 0;

  constructor(id: string, displayName: string, description: string) {
    this.#id = id;
    this.displayName = displayName;
    this.description = description;
  }

  put(name: string, data: string, uid: string): CalendarObject {
    const object = { data, uid, etag: `"${digest(`${data}${this.#change}`)}"` };
    this.objects.set(name, object);
    this.#note(name);
    return object;
  }

  remove(name: string): boolean {
    const wasThere = this.objects.delete(name);
    if (wasThere) this.#note(name);
    return wasThere;
  }

  /** The name of what has this UID, other than the name given. */
  nameOfUid(uid: string, except: string): string | undefined {
    for (const [name, object] of this.objects) if (object.uid === uid && name !== except) return name;
    return undefined;
  }

  get syncToken(): string {
    return `urn:sandbox:${this.#id}:${this.#change}`;
  }

  /** Names that changed since a token, whether they are there or not; undefined for one that is not known. */
  changedSince(token: string): string[] | undefined {
    const [, id, change = ''] = /^urn:sandbox:([^:]+):(\d+)$/.exec(token) ?? [];
    if (id !== this.#id || Number(change) > this.#change) return undefined;
    return [...new Set(entriesAfter(this.#log, Number(change)).map(({ name }) => name))];
  }

  #note(name: string): void {
    this.#change += 1;
    this.#log.push({ change: this.#change, name });
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}
