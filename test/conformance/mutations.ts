import type { ActionClasses, Limits, Rules } from './naive/rules.js'

/** One change of the rules, and whether a reader can show the difference at all. */
export interface Mutation {
  readonly title: string
  /** False for a change that no journal can tell from none. */
  readonly shows: boolean
  readonly rules: Rules
}

/** A copy of the rules with one thing in it put differently. */
function mutation(
  rules: Rules,
  title: string,
  shows: boolean,
  change: (classes: ActionClasses, limits: Limits) => void,
): Mutation {
  const copy = structuredClone(rules)
  change(copy.classes, copy.limits)
  return { title, shows, rules: copy }
}

/** Two classes with the same effects: a verb moved from one to the other does what it did. */
function isSameEffect(classes: ActionClasses, a: string, b: string): boolean {
  const [one, other] = [classes.classes[a]!, classes.classes[b]!]
  return one.with_payload === other.with_payload && one.without_payload === other.without_payload
}

/** Every verb, and every wildcard, in every class that is not its own. */
function* verbMutations(rules: Rules): Generator<Mutation> {
  const { verbs, classes, wildcards } = rules.classes
  for (const [verb, own] of Object.entries(verbs)) {
    for (const other of Object.keys(classes).filter(one => one !== own)) {
      yield mutation(rules, `verb ${verb} as ${other}`, !isSameEffect(rules.classes, own, other), copy => {
        copy.verbs[verb] = other
      })
    }
  }
  for (const [at, { prefix, class: own }] of wildcards.entries()) {
    for (const other of Object.keys(classes).filter(one => one !== own)) {
      yield mutation(
        rules,
        `wildcard ${prefix}* as ${other}`,
        !isSameEffect(rules.classes, own, other),
        copy => {
          copy.wildcards[at]!.class = other
        },
      )
    }
  }
}

/** Every class, and the unknown verbs, with every other effect. */
function* effectMutations(rules: Rules): Generator<Mutation> {
  const effects = ['upsert', 'remove', 'activity', 'meta']
  const sides = ['with_payload', 'without_payload'] as const
  for (const side of sides) {
    for (const [name, own] of Object.entries(rules.classes.classes)) {
      for (const effect of effects.filter(one => one !== own[side])) {
        yield mutation(rules, `class ${name} ${side} as ${effect}`, true, copy => {
          copy.classes[name]![side] = effect
        })
      }
    }
    for (const effect of effects.filter(one => one !== rules.classes.unknown_verb[side])) {
      yield mutation(rules, `unknown verbs ${side} as ${effect}`, true, copy => {
        copy.unknown_verb[side] = effect
      })
    }
  }
}

/** Every section of every item type gone, one more for every item type, every alias gone. */
function* sectionMutations(rules: Rules): Generator<Mutation> {
  const { item_types: types, item_type_aliases: aliases } = rules.classes
  for (const [type, { sections }] of Object.entries(types)) {
    for (const [at, section] of sections.entries()) {
      yield mutation(rules, `${type} without section ${section}`, true, copy => {
        copy.item_types[type]!.sections.splice(at, 1)
      })
    }
    yield mutation(rules, `${type} with one section more`, true, copy => {
      copy.item_types[type]!.sections.push('cross-project')
    })
  }
  for (const alias of Object.keys(aliases)) {
    yield mutation(rules, `no alias ${alias}`, true, copy => {
      delete copy.item_type_aliases[alias]
    })
  }
  yield mutation(rules, 'another activity section', true, copy => {
    copy.activity_section = 'system'
  })
}

/** Every part of the attention rule gone: rules, conditions, values, exceptions, sums. */
function* attentionMutations(rules: Rules): Generator<Mutation> {
  const { rules: items, sums } = rules.classes.attention
  for (const [at, item] of items.entries()) {
    const name = `attention rule ${at + 1} (${item.item_type})`
    yield mutation(rules, `no ${name}`, true, copy => {
      copy.attention.rules.splice(at, 1)
    })
    for (const [c, condition] of item.when.entries()) {
      yield mutation(rules, `${name} without its condition on ${condition.field}`, true, copy => {
        copy.attention.rules[at]!.when.splice(c, 1)
      })
      for (const [v, value] of (condition.one_of ?? []).entries()) {
        yield mutation(
          rules,
          `${name} without ${condition.field} ${JSON.stringify(value)}`,
          !isCountedElsewhere(rules.classes, at, condition.field, value),
          copy => {
            copy.attention.rules[at]!.when[c]!.one_of!.splice(v, 1)
          },
        )
      }
    }
    for (const [u, exception] of (item.unless ?? []).entries()) {
      yield mutation(rules, `${name} without exception ${u + 1}`, true, copy => {
        copy.attention.rules[at]!.unless!.splice(u, 1)
      })
      for (const [c, condition] of exception.entries()) {
        for (const [v, value] of (condition.one_of ?? []).entries()) {
          yield mutation(
            rules,
            `${name}, exception ${u + 1} without ${JSON.stringify(value)}`,
            true,
            copy => {
              copy.attention.rules[at]!.unless![u]![c]!.one_of!.splice(v, 1)
            },
          )
        }
        if (exception.length === 1) continue
        yield mutation(
          rules,
          `${name}, exception ${u + 1} without its condition on ${condition.field}`,
          true,
          copy => {
            copy.attention.rules[at]!.unless![u]!.splice(c, 1)
          },
        )
      }
    }
  }
  for (const [at, sum] of sums.entries()) {
    yield mutation(rules, `no sum of ${sum.item_type}.${sum.field}`, true, copy => {
      copy.attention.sums.splice(at, 1)
    })
  }
}

/** Whether another rule counts an entity with this value whatever else it holds: each is counted once. */
function isCountedElsewhere(classes: ActionClasses, at: number, field: string, value: unknown): boolean {
  const own = classes.attention.rules[at]!
  return classes.attention.rules.some(
    (other, index) =>
      index !== at &&
      other.item_type === own.item_type &&
      other.unless === undefined &&
      other.when.every(one => one.field === field && one.one_of?.includes(value) === true),
  )
}

/** Every event in every other wake class, unclassified events too; what is never news; the registry's note. */
function* newsMutations(rules: Rules): Generator<Mutation> {
  const { wake_classes: wakes, unclassified_wake: unclassified, never_news: silent } = rules.classes
  const kinds = ['mail', 'diagnostic', 'liveness']
  for (const [event, own] of Object.entries(wakes)) {
    for (const wake of kinds.filter(one => one !== own)) {
      yield mutation(rules, `event ${event} as ${wake}`, true, copy => {
        copy.wake_classes[event] = wake
      })
    }
  }
  for (const wake of kinds.filter(one => one !== unclassified)) {
    yield mutation(rules, `unclassified events as ${wake}`, true, copy => {
      copy.unclassified_wake = wake
    })
  }
  for (const verb of silent) {
    yield mutation(rules, `${verb} as news`, true, copy => {
      copy.never_news = copy.never_news.filter(one => one !== verb)
    })
  }
  yield mutation(rules, 'create as no news', true, copy => {
    copy.never_news.push('create')
  })
  yield mutation(rules, 'another registry genesis note', true, copy => {
    copy.registry.genesis_note = 'store_marker'
  })
}

/** Every bound that a reader applies, one more and one less; the width of a segment's name. */
function* limitMutations(rules: Rules): Generator<Mutation> {
  for (const by of [-1, 1]) {
    for (const name of Object.keys(limitsOfAReader(rules.limits)) as (keyof Limits)[]) {
      yield mutation(rules, `${name} ${by > 0 ? 'raised' : 'lowered'} by 1`, true, (_, limits) => {
        limits[name].value += by
      })
    }
    yield mutation(rules, `segment_pad ${rules.classes.segment_pad + by}`, true, copy => {
      copy.segment_pad += by
    })
  }
}

function limitsOfAReader(limits: Limits): Limits {
  const { line_read_bytes_max, nesting_levels_max, tx_records_max, activity_records_max } = limits
  return { line_read_bytes_max, nesting_levels_max, tx_records_max, activity_records_max }
}

/** Every change of one thing in the rules that a reader goes by. */
export function* mutationsOf(rules: Rules): Generator<Mutation> {
  yield* verbMutations(rules)
  yield* effectMutations(rules)
  yield* sectionMutations(rules)
  yield* attentionMutations(rules)
  yield* newsMutations(rules)
  yield* limitMutations(rules)
}
