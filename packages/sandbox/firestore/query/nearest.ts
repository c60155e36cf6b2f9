import { invalid } from '../transport/status.ts';
import { type FieldPath, parseFieldPath } from '../values/field-path.ts';
import { decodeValue, rank, type Value } from '../values/value.ts';
import { type DocumentView, valueAt } from './document-view.ts';
import type { FindNearestMessage } from './messages.ts';

const limitMax = 1000;
const euclidean = 1;
const cosine = 2;
const dotProduct = 3;

export interface NearestPlan {
  readonly path: FieldPath;
  readonly vector: readonly number[];
  readonly measure: number;
  readonly limit: number;
  readonly resultField: FieldPath | null;
  readonly threshold: number | null;
}

export interface Neighbour {
  readonly view: DocumentView;
  readonly distance: number;
}

export function planNearest(message: FindNearestMessage): NearestPlan {
  const vector = message.queryVector === null ? null : numbersOf(decodeValue(message.queryVector));
  if (vector === null || vector.length === 0) throw invalid('find_nearest needs a query vector.');
  const limit = message.limit?.value ?? 0;
  if (limit < 1 || limit > limitMax) throw invalid(`The limit of find_nearest must be from 1 to ${limitMax}.`);
  if (message.distanceMeasure < euclidean || message.distanceMeasure > dotProduct) {
    throw invalid('find_nearest names no distance measure.');
  }
  return {
    path: parseFieldPath(message.vectorField?.fieldPath ?? ''),
    vector,
    measure: message.distanceMeasure,
    limit,
    resultField: message.distanceResultField === '' ? null : parseFieldPath(message.distanceResultField),
    threshold: message.distanceThreshold?.value ?? null,
  };
}

/** The nearest documents, nearest first. Documents without a vector of the same dimension are left out. */
export function findNearest(views: Iterable<DocumentView>, plan: NearestPlan, documentsRoot: string): Neighbour[] {
  const neighbours: Neighbour[] = [];
  for (const view of views) {
    const value = valueAt(view, plan.path, documentsRoot);
    const vector = value?.rank === rank.vector ? numbersOf(value) : null;
    if (vector === null || vector.length !== plan.vector.length) continue;
    const distance = distanceBetween(vector, plan.vector, plan.measure);
    if (withinThreshold(distance, plan)) neighbours.push({ view, distance });
  }
  // A dot product grows with similarity, the other two measures shrink.
  const sign = plan.measure === dotProduct ? -1 : 1;
  neighbours.sort((left, right) => sign * (left.distance - right.distance));
  return neighbours.slice(0, plan.limit);
}

function withinThreshold(distance: number, plan: NearestPlan): boolean {
  if (plan.threshold === null) return true;
  return plan.measure === dotProduct ? distance >= plan.threshold : distance <= plan.threshold;
}

function numbersOf(value: Value): number[] | null {
  if (value.rank !== rank.vector && value.rank !== rank.array) return null;
  const numbers = value.elements.map((element) => (element.rank === rank.number ? element.double : Number.NaN));
  return numbers.some(Number.isNaN) ? null : numbers;
}

function distanceBetween(left: readonly number[], right: readonly number[], measure: number): number {
  if (measure === dotProduct) return dot(left, right);
  if (measure === cosine) return 1 - dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right));
  return Math.sqrt(left.reduce((sum, value, index) => sum + (value - right[index]!) ** 2, 0));
}

function dot(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, value, index) => sum + value * right[index]!, 0);
}
