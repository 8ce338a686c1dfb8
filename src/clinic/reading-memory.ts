import { createHash } from 'node:crypto';
import type { HttpResponse } from '../http/door.ts';
import type { Forgettable, KeptRoom } from '../model/kept.ts';
import type { ReceivedPage } from './paging.ts';
import type { Mapped } from './rows.ts';

/** A page as it is kept: what its bytes were made into. The body is without its rows. */
export type KeptPage<Row> = Omit<ReceivedPage<Row>, 'headers'>;

/** What a list's readings share while one of them goes on. */
export interface RememberedReading<Model> {
  /** What the very bytes of an answer were made into before; else what `make` makes of them now. */
  page(
    answer: Pick<HttpResponse, 'body' | 'parts' | 'headers'>,
    make: () => KeptPage<Mapped<Model>>,
  ): KeptPage<Mapped<Model>>;
  /** A record that is as it was is the same object as before, so that whatever was computed of it is known by it. */
  asBefore(mapped: Mapped<Model>): Mapped<Model>;
  /** The reading is over: what it did not show is forgotten. */
  end(records: ReadonlyMap<string, Model>): void;
}

/**
 * What one process keeps of the last reading of a list, so that pages and records that are as they were cost neither parsing nor mapping.
 * It changes nothing of what a reading gives.
 */
export class ReadingMemory<Model extends { id: string }> implements Forgettable {
  readonly #room: KeptRoom;
  readonly #onForget: () => void;
  #pages: ReadonlyMap<string, KeptPage<Mapped<Model>>> = new Map();
  #records: ReadonlyMap<string, Model> = new Map();

  /** @param onForget told when it is forgotten, for what others keep of the same records */
  constructor(room: KeptRoom, onForget: () => void = () => {}) {
    this.#room = room;
    this.#onForget = onForget;
  }

  /** @param place what the meaning of the same bytes depends on, such as the clinic's tenant */
  begin(place: string): RememberedReading<Model> {
    const shown = new Map<string, KeptPage<Mapped<Model>>>();
    return {
      page: (answer, make) => {
        const name = `${place} ${answer.headers.get('content-type')} ${digestOf(answer)}`;
        const page = shown.get(name) ?? this.#pages.get(name) ?? make();
        shown.set(name, page);
        return page;
      },
      asBefore: (mapped) => {
        const before = 'record' in mapped ? this.#records.get(mapped.record.id) : undefined;
        return before !== undefined && 'record' in mapped && isSame(before, mapped.record)
          ? { record: before }
          : mapped;
      },
      end: (records) => {
        this.#pages = shown;
        this.#records = records;
        // Of a clinic that does not filter, most rows lie beside the question.
        this.#room.use(
          this,
          [...shown.values()].reduce((sum, { rows }) => sum + rows.length, 0),
        );
      },
    };
  }

  forget(): void {
    this.#pages = new Map();
    this.#records = new Map();
    this.#onForget();
  }
}

function digestOf(answer: Pick<HttpResponse, 'body' | 'parts'>): string {
  const digest = createHash('sha256');
  for (const part of answer.parts ?? [answer.body]) digest.update(part);
  return digest.digest('base64url');
}

/** Whether two values of JSON's kinds are equal. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length || Array.isArray(one) !== Array.isArray(other)) return false;
  return names.every((name) => isSame(Reflect.get(one, name), Reflect.get(other, name)));
}
