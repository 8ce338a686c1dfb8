import type { Readable, Writable } from 'node:stream';
import { confirm, isCancel, log, multiselect, password, select, text } from '@clack/prompts';
import { MirrorError } from '../../core/model/errors.ts';
import { message } from '../../messages/message.ts';
import type { Asker, Question, TextQuestion } from './asker.ts';

/** Streams for input and questions. */
interface Terminal {
  input: Readable;
  output: Writable;
}

/** Asks a person in a terminal. @throws MirrorError `settings`, code `init-ended`, when they end it */
export function terminalAsker(terminal: Terminal): Asker {
  const messageOf = ({ ask, why }: Question) => `${ask}\n  ${why}`;
  const validated =
    ({ check, isOptional = false, usual }: TextQuestion) =>
    (typed: string | undefined) => {
      const answer = typed ?? '';
      if (answer !== '') return check?.(answer);
      return isOptional || usual !== undefined ? undefined : 'this value is required';
    };
  const requireAnswer = <Value>(answer: Value): Exclude<Value, symbol> => {
    if (!isCancel(answer)) return answer as Exclude<Value, symbol>;
    throw new MirrorError(message('questions-ended'), {
      ...{ actor: 'settings', code: 'init-ended', retry: 'never' },
      remedy: message('questions-ended.remedy'),
    });
  };
  return {
    isPerson: true,
    presetAnswer: () => null,
    async text(question) {
      const { usual = '' } = question;
      const shown = usual === '' ? {} : { placeholder: usual, defaultValue: usual };
      return (
        requireAnswer(
          await text({ message: messageOf(question), validate: validated(question), ...terminal, ...shown }),
        ) ?? usual
      );
    },
    async secret(question) {
      return (
        requireAnswer(await password({ message: messageOf(question), validate: validated(question), ...terminal })) ??
        ''
      );
    },
    async choice(question) {
      // The library's options are of one of several kinds by their value: a text here.
      const options = question.choices.map(({ value, label }) => ({ value: value as string, label }));
      return requireAnswer(
        await select({ message: messageOf(question), options, ...terminal }),
      ) as (typeof question.choices)[number]['value'];
    },
    async choices(question) {
      const options = question.choices.map(({ value, label }) => ({ value: value as string, label }));
      const message = `${messageOf(question)} (Space selects, Enter confirms)`;
      return requireAnswer(
        await multiselect({ message, options, ...terminal }),
      ) as (typeof question.choices)[number]['value'][];
    },
    async another(_id, count, ask) {
      return count === 0 || requireAnswer(await confirm({ message: ask, initialValue: false, ...terminal }));
    },
    report: (message) => log.info(message, { output: terminal.output }),
  };
}
