import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { VendorErrors } from '../../src/connectors/errors.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import { type Code, forTenant, message, namesIn, render, SENTENCES } from '../../src/messages/message.ts';
import { catalogues } from '../../tools/write-reference.ts';

const SOURCE = join(import.meta.dirname, '../../src');
const { en, it: italian } = SENTENCES;
const CODES = Object.keys(en) as Code[];

/** Sentences that contain only values, or names and terms that both languages share. */
const ALIKE = /^(about|labelled|listed|in-brackets|\w[\w-]*\.name|subject\.server|sync-health\.ok)$/;

function sources(): string {
  const files = readdirSync(SOURCE, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts') && !file.startsWith('messages'))
    .map((file) => readFileSync(join(SOURCE, file), 'utf8'))
    .join('\n');
}

describe('the sentences', () => {
  test('have the same codes and values in both languages, and are translated', () => {
    expect(CODES.length).toBeGreaterThan(350);
    expect(Object.keys(italian).toSorted()).toEqual(CODES.toSorted());
    for (const code of CODES) {
      expect(namesIn(italian[code] ?? '').toSorted(), code).toEqual(namesIn(en[code] ?? '').toSorted());
      if (!ALIKE.test(code)) expect(italian[code], `${code} is not translated`).not.toBe(en[code]);
    }
  });

  test('name no tenant to fill in: it would stay in the command, since only values are replaced', () => {
    const literal = Object.values(SENTENCES).flatMap((table) =>
      CODES.filter((code) => table[code]?.includes('<tenant>')),
    );
    expect(literal).toEqual([]);
  });

  test('have one copy of each English text', () => {
    const [own, text] = [sources(), (code: Code) => en[code] ?? ''];
    const long = CODES.filter((code) => text(code).length > 30 && namesIn(text(code)).length === 0);
    expect(long.filter((code) => own.includes(`'${text(code)}'`) || own.includes(`"${text(code)}"`))).toEqual([]);
  });

  test('are each used', () => {
    const own = sources();
    const ofKinds = new Set(
      [...catalogues.values()].flatMap(({ kinds, textsOf }: VendorErrors) =>
        Object.keys(kinds).flatMap((kind) => Object.values(textsOf(kind)).flatMap((text) => text?.code ?? [])),
      ),
    );
    /** Codes of errors, by which their sentences are found. */
    const isOfError = (code: string) => {
      const [, error = ''] = /^(?:oauth|clinic)\.([\w-]+?)(?:\.remedy|\.first)?$/.exec(code) ?? [];
      return error !== '' && new RegExp(`'?\\b${error}\\b'?`).test(own);
    };
    const isUsed = (code: Code) =>
      ofKinds.has(code) || own.includes(`'${code}'`) || own.includes(`'${code.replace(/\.remedy$/, '')}'`);
    const isName = (code: Code) => code.endsWith('.name');
    expect(CODES.filter((code) => !isUsed(code) && !isOfError(code) && !isName(code))).toEqual([]);
  });
});

describe('a message', () => {
  test('has the word that fits its number, in both languages', () => {
    const held = (count: number) => message('on-hold', { count });
    expect([render(held(1)), render(held(1), 'it')]).toEqual([
      '1 change on hold until an operator decides',
      '1 modifica in attesa di conferma',
    ]);
    expect([render(held(48)), render(held(48), 'it')]).toEqual([
      '48 changes on hold until an operator decides',
      '48 modifiche in attesa di conferma',
    ]);
  });

  test('shows its causes in the same language, and leaves labels and unknown causes unchanged', () => {
    const cause = message('with-status', { cause: message('clinic.unavailable'), status: 503 });
    const failed = message('cycle-failed', { cause: message('labelled', { label: 'clinic.tenants.list', cause }) });
    expect(render(failed)).toBe(
      'the last cycle failed: clinic.tenants.list: the clinic is not able to answer, status 503',
    );
    expect(render(failed, 'it')).toBe(
      'l’ultimo ciclo non è riuscito: clinic.tenants.list: la clinica non è in grado di rispondere, stato 503',
    );
    const unforeseen = message('cycle-failed', { cause: 'an unforeseen cause' });
    expect(render(unforeseen, 'it')).toBe('l’ultimo ciclo non è riuscito: an unforeseen cause');
  });

  test('is the same after it was stored, and a code of another version is shown unchanged', () => {
    const stored = JSON.parse(JSON.stringify(message('on-hold', { count: 2 })));
    expect(render(stored, 'it')).toBe('2 modifiche in attesa di conferma');
    expect([render({ code: 'of-tomorrow' as Code }), render({ code: 'constructor' as Code })]).toEqual([
      'of-tomorrow',
      'constructor',
    ]);
  });

  test('keeps a value that looks like a template', () => {
    expect(render(message('subject.target', { id: '{count:a|b} {id}' }))).toBe('target {count:a|b} {id}');
  });

  test('has the tenant at every depth of its values', () => {
    const command = 'clinic-mirror login <tenant> work';
    const text = message('oauth.first-then', { first: 'wait', next: message('log-in-again', { command }) });
    expect(render(forTenant(text, 'aurora') ?? '')).toBe('wait, then sign in again: clinic-mirror login aurora work');
    expect([forTenant(command, 'aurora'), forTenant(null, 'aurora')]).toEqual([
      'clinic-mirror login aurora work',
      null,
    ]);
  });
});

describe('an error', () => {
  test('bears its message in English and as data, also when reworded', () => {
    const options = {
      actor: 'remote',
      code: 'timeout',
      retry: 'later',
      remedy: message('html-answer.remedy'),
    } as const;
    const error = new MirrorError(message('timeout'), options);
    const labelled = error.reworded(message('labelled', { label: 'call', cause: error.texts.message }));
    expect(labelled.message).toBe('call: no answer in time');
    expect(render(labelled.texts.message, 'it')).toBe('call: nessuna risposta in tempo');
    expect(labelled.texts.remedy).toEqual(error.texts.remedy);
  });
});
