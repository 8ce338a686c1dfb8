import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openTodoMirror } from '../../examples/todo.ts';

test('a copy follows its list: new, changed and removed tasks, and nothing without a change', async () => {
  const todo = openTodoMirror();
  todo.write('1', 'call the lab');
  todo.write('2', 'order gloves');
  expect(await todo.sync()).toEqual({ planned: ['1: new', '2: new'], held: 0 });
  expect(todo.copy()).toEqual(['call the lab', 'order gloves']);
  expect(await todo.sync()).toEqual({ planned: [], held: 0 });
  todo.write('2', 'order gloves, size M');
  todo.remove('1');
  expect(await todo.sync()).toEqual({ planned: ['2: content-changed'], held: 0 });
  expect(todo.copy()).toEqual(['call the lab', 'order gloves, size M']);
  expect(await todo.sync()).toEqual({ planned: ['1: vanished'], held: 0 });
  expect(todo.copy()).toEqual(['order gloves, size M']);
});

test('a list that loses nearly everything waits for a decision', async () => {
  const todo = openTodoMirror();
  for (let task = 0; task < 20; task += 1) todo.write(`${task}`, `task ${task}`);
  await todo.sync();
  for (let task = 0; task < 18; task += 1) todo.remove(`${task}`);
  await todo.sync();
  expect(await todo.sync()).toEqual({ planned: [], held: 1 });
  expect(todo.copy()).toHaveLength(20);
  await todo.approve();
  await todo.sync();
  expect(todo.copy()).toEqual(['task 18', 'task 19']);
});

test('the example is read in a minute, and stands in ARCHITECTURE', () => {
  const lines = readFileSync(new URL('../../examples/todo.ts', import.meta.url), 'utf8').split('\n');
  expect(lines.length).toBeLessThanOrEqual(100);
  expect(readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8')).toContain('(examples/todo.ts)');
});
