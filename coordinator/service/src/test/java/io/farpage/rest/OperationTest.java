package io.farpage.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.farpage.access.Access;
import io.farpage.access.Identity;
import io.farpage.access.Role;
import io.farpage.access.Terms;
import io.farpage.rest.Operation.HeaderParameter;
import io.farpage.rest.Operation.QueryParameter;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Where requests go, and what rights come to in a service. */
class OperationTest {

    private static final Operation<Void, String> PAGE = Operation.get(
                    "/spaces/{space}/pages/{page}", Access.anyone(), String.class)
            .with(new QueryParameter("peers", false, ""), new QueryParameter("torn", false, ""));

    @Test
    void shouldEncodeWhatIsInThePathAndTheQuery() {
        assertEquals(
                "/spaces/a%2Fb%20%C3%A9%2C/pages/3", PAGE.at("a/b \u00e9,", 3).path());
        assertEquals(
                "/spaces/s/pages/0?peers=a,b&torn=50%25%20%26%20more%3D+",
                PAGE.at("s", 0)
                        .with("peers", "a,b")
                        .with("torn", Optional.empty())
                        .with("torn", Optional.of("50% & more="))
                        .path()
                        .concat("+"));
    }

    @Test
    void shouldRefuseParametersThatAreNotDeclared() {
        assertThrows(AssertionError.class, () -> PAGE.at("s", 0).with("wait", 1));
        assertThrows(AssertionError.class, () -> PAGE.at("s", 0, 1));
        assertThrows(IndexOutOfBoundsException.class, () -> PAGE.at("s"));
    }

    @Test
    void shouldAnswerAListForAnArray() {
        Operation<Void, List<String>> list = Operation.list("/names", Access.anyone(), String.class);
        assertEquals(String[].class, list.answer().orElseThrow());
        assertEquals(List.of("a", "b"), list.answerOf(new String[] {"a", "b"}));
    }

    @Test
    void shouldSayWhetherTheSameRequestIsCarriedOutOnce() {
        assertFalse(PAGE.isIdempotent());
        assertTrue(PAGE.with(new HeaderParameter(Operation.IDEMPOTENCY_KEY, "")).isIdempotent());
    }

    @Test
    void shouldDecideRightsByWhatTheServiceIs() {
        Access access = Access.role(Role.VIEWER).or(Access.ownNode());
        Access served = Access.role(Role.METRICS).or(Access.servedNode());
        Identity own = new Identity.Node("a");
        Identity other = new Identity.Node("b");
        assertFalse(access.allows(own, name -> name), "nothing is allowed before it is decided");
        assertFalse(access.under(Terms.NONE).allows(own, name -> name));
        assertEquals("role viewer", access.under(Terms.NONE).needed(name -> name));
        assertTrue(served.under(Terms.NONE).allows(other, name -> name));
        Terms agent = Terms.ofAgent("a");
        for (Access each : List.of(access.under(agent), served.under(agent))) {
            assertTrue(each.allows(own, name -> name));
            assertFalse(each.allows(other, name -> name));
            assertTrue(each.needed(name -> name).endsWith("or the certificate of node 'a'"));
        }
    }

    @Test
    void shouldLetNodesDoWhatASettingAllowsAndNameItOtherwise() {
        Access access = Access.role(Role.OPERATOR).or(Access.anyNodeIf("nodes.may"));
        Access open = access.under(new Terms(Optional.empty(), Set.of("nodes.may")));
        assertTrue(open.allows(new Identity.Node("a"), name -> name));
        assertEquals("role operator or a node's certificate", open.needed(name -> name));
        Access closed = access.under(Terms.NONE);
        assertFalse(closed.allows(new Identity.Node("a"), name -> name));
        assertEquals("role operator (nodes.may is false)", closed.needed(name -> name));
    }

    @Test
    void shouldLetTheNodeInThePathDoWhatASettingAllows() {
        Access access = Access.role(Role.OPERATOR).or(Access.nodeInPathIf("node", "nodes.may"));
        Access open = access.under(new Terms(Optional.empty(), Set.of("nodes.may")));
        assertTrue(open.allows(new Identity.Node("a"), _ -> "a"));
        assertFalse(open.allows(new Identity.Node("a"), _ -> "b"));
        assertEquals("role operator or the certificate of node 'a'", open.needed(_ -> "a"));
        Access closed = access.under(Terms.NONE);
        assertFalse(closed.allows(new Identity.Node("a"), _ -> "a"));
        assertEquals("role operator (nodes.may is false)", closed.needed(_ -> "a"));
    }
}
