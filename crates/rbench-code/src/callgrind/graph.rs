//! Finds cycles of calls, which share their inclusive cost. Pure.

/// The strongly connected component of each of `count` nodes. Components are numbered so that every edge between two
/// leads from a larger number to a smaller one: callees come before their callers.
pub(super) fn components(
    count: usize,
    edges: impl IntoIterator<Item = (usize, usize)>,
) -> Vec<usize> {
    let mut callees = vec![Vec::new(); count];
    for (from, to) in edges {
        callees[from].push(to);
    }
    let mut search = Search {
        callees,
        met: vec![None; count],
        low: vec![0; count],
        component: vec![None; count],
        open: Vec::new(),
        next: 0,
        components: 0,
    };
    for node in 0..count {
        if search.met[node].is_none() {
            search.visit(node);
        }
    }
    search.component.into_iter().map(Option::unwrap_or_default).collect()
}

/// Tarjan's search with an explicit stack, because calls may be nested deeply.
struct Search {
    callees: Vec<Vec<usize>>,
    /// The order in which each node was visited.
    met: Vec<Option<usize>>,
    /// The earliest visited node that each can reach.
    low: Vec<usize>,
    component: Vec<Option<usize>>,
    /// Visited nodes whose component is still unknown.
    open: Vec<usize>,
    next: usize,
    components: usize,
}

impl Search {
    fn visit(&mut self, root: usize) {
        // The nodes being visited, each with the number of its visited callees.
        let mut path = vec![(root, 0)];
        self.meet(root);
        while let Some((node, done)) = path.pop() {
            let Some(&callee) = self.callees[node].get(done) else {
                self.leave(node);
                if let Some(&(caller, _)) = path.last() {
                    self.low[caller] = self.low[caller].min(self.low[node]);
                }
                continue;
            };
            path.push((node, done + 1));
            match self.met[callee] {
                None => {
                    self.meet(callee);
                    path.push((callee, 0));
                }
                Some(met) if self.component[callee].is_none() => {
                    self.low[node] = self.low[node].min(met);
                }
                Some(_) => {}
            }
        }
    }

    fn meet(&mut self, node: usize) {
        self.met[node] = Some(self.next);
        self.low[node] = self.next;
        self.next += 1;
        self.open.push(node);
    }

    /// Closes the component that starts at `node`, if one does.
    fn leave(&mut self, node: usize) {
        if self.met[node] != Some(self.low[node]) {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.component[member] = Some(self.components);
            if member == node {
                break;
            }
        }
        self.components += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn components_join_cycles_and_order_callees_first() {
        let found = components(5, [(0, 1), (1, 2), (2, 1), (2, 3), (0, 4)]);
        assert_eq!(found[1], found[2]);
        assert!(found[0] > found[1] && found[1] > found[3] && found[0] > found[4]);
    }

    #[test]
    fn components_of_a_long_chain_need_no_deep_stack() {
        let count = 200_000;
        let found = components(count, (1..count).map(|node| (node - 1, node)));
        assert_eq!((found[0], found[count - 1]), (count - 1, 0));
    }

    proptest! {
        #[test]
        fn components_join_mutually_reachable_nodes(
            edges in prop::collection::vec((0..8_usize, 0..8_usize), 0..20),
        ) {
            let mut reaches = [[false; 8]; 8];
            for (node, reached) in reaches.iter_mut().enumerate() {
                reached[node] = true;
            }
            for &(from, to) in &edges {
                reaches[from][to] = true;
            }
            for by in 0..8 {
                for from in 0..8 {
                    for to in 0..8 {
                        reaches[from][to] |= reaches[from][by] && reaches[by][to];
                    }
                }
            }
            let found = components(8, edges.iter().copied());
            for one in 0..8 {
                for other in 0..8 {
                    let together = reaches[one][other] && reaches[other][one];
                    prop_assert_eq!(found[one] == found[other], together);
                    if reaches[one][other] {
                        prop_assert!(found[one] >= found[other]);
                    }
                }
            }
        }
    }
}
