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

  /** Returns the name of an object with this UID, except the given name. */
  nameOfUid(uid: string, except: string): string | undefined {
    for (const [name, object] of this.objects) if (object.uid === uid && name !== except) return name;
    return undefined;
  }

  get syncToken(): string {
    return `urn:sandbox:${this.#id}:${this.#change}`;
  }

  /** Returns the names that changed since a token, deleted objects included; undefined for an unknown token. */
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
