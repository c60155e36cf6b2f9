import { describe, expect, test } from 'vitest';
import { recordKind } from '../../../ports/index.ts';
import { ResentState } from './resent-state.ts';

const second = (at: number) => `2026-01-01T00:00:0${at}.000000000Z`;
const justAfter = (at: number) => `2026-01-01T00:00:0${at}.000001000Z`;
const put = (path: string, at: number) => ({
  kind: recordKind.put,
  path,
  at: second(at),
  createdAt: '',
  body: Buffer.alloc(0),
});
const gone = (path: string, at: number) => ({ ...put(path, at), kind: recordKind.delete });

/** Each state as a server sends it: all there is, then the instant up to which that is all. */
function stateOf(state: ResentState, documents: Record<string, number>, snapshot?: number) {
  state.begin();
  const news = Object.entries(documents).filter(([path, at]) => state.hear(put(path, at)));
  const went = state.complete();
  if (snapshot !== undefined) state.snapshot(second(snapshot));
  return { news: news.map(([path]) => path), gone: went };
}

describe('of a server that sends all again', () => {
  test('only what was written since is news, and of later states what is written otherwise than in the last', () => {
    const state = new ResentState(second(5));
    expect(stateOf(state, { 'a/1': 4, 'a/2': 6 }, 7)).toEqual({ news: ['a/2'], gone: [] });
    expect(stateOf(state, { 'a/1': 4, 'a/2': 8, 'a/3': 8 }, 9)).toEqual({ news: ['a/2', 'a/3'], gone: [] });
  });

  test('what is missing went after the last instant at which all was known, and after it was written', () => {
    const state = new ResentState(second(1));
    stateOf(state, { 'a/1': 0, 'a/2': 0, 'a/3': 0 }, 3);
    expect(stateOf(state, { 'a/2': 0, 'a/4': 5 })).toEqual({
      news: ['a/4'],
      gone: [
        { path: 'a/1', at: justAfter(3) },
        { path: 'a/3', at: justAfter(3) },
      ],
    });
    expect(stateOf(state, {})).toEqual({
      news: [],
      gone: [
        { path: 'a/2', at: justAfter(3) },
        { path: 'a/4', at: justAfter(5) },
      ],
    });
  });

  test('a document that went and came anew between two states is told once more, behind its end', () => {
    const state = new ResentState(second(1));
    stateOf(state, { 'a/1': 0 }, 2);
    const [went] = stateOf(state, {}, 6).gone;
    expect(stateOf(state, { 'a/1': 4 }).news).toEqual(['a/1']);
    expect(went!.at < second(4)).toBe(true);
  });

  test('a state that is begun again before it was whole says nothing of what went', () => {
    const state = new ResentState(second(1));
    stateOf(state, { 'a/1': 0 }, 2);
    state.begin();
    state.snapshot(second(5));
    expect(stateOf(state, { 'a/1': 0 })).toEqual({ news: [], gone: [] });
    expect(stateOf(state, {}).gone).toEqual([{ path: 'a/1', at: justAfter(2) }]);
  });

  test('what it tells by changes in between counts too', () => {
    const state = new ResentState(second(1));
    stateOf(state, { 'a/1': 0 }, 2);
    expect(state.hear(put('a/2', 3))).toBe(true);
    expect(state.hear(gone('a/1', 4))).toBe(true);
    expect(stateOf(state, {}).gone).toEqual([{ path: 'a/2', at: justAfter(3) }]);
  });
});
